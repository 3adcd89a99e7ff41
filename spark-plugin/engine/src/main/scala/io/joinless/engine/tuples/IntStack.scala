package io.joinless.engine.tuples

import java.util.Arrays

/** A growable stack (or list) of ints: work lists of the algorithms, free ids. */
final class IntStack {
  private[this] var items = new Array[Int](16)
  private[this] var count = 0

  def size: Int = count
  def isEmpty: Boolean = count == 0

  /** The int at position `i`, counted from the bottom. */
  def apply(i: Int): Int = items(i)

  def push(value: Int): Unit = {
    if (count == items.length) items = Arrays.copyOf(items, 2 * count)
    items(count) = value
    count += 1
  }

  def pop(): Int = { count -= 1; items(count) }

  def clear(): Unit = count = 0

  @inline def foreach(f: Int => Unit): Unit = {
    var i = 0
    while (i < count) { f(items(i)); i += 1 }
  }

  def bytes: Long = 4L * items.length
}
