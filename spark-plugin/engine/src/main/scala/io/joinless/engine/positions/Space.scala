package io.joinless.engine.positions

import io.joinless.engine.algebra.Wide
import io.joinless.engine.view.ViewNode

/** A set of results whose elements have positions: which results of each subtree belong to it, and
  * how many they are.
  *
  * A set has one or several ''parts'' per key and tuple, for example the results before a batch and
  * those that it inserts. The positions under a key are those under its tuples, in the canonical
  * order of the tuples. The positions under a tuple are a mixed-radix number: a copy of the tuple,
  * and one position under each of its keys towards children.
  */
private[engine] trait Space {

  /** The number of positions of a part under a tuple. */
  def count(part: Int, node: ViewNode, tuple: Int, into: Wide): Unit

  /** Whether no tuple of a node has more than one position in the part; then [[contains]] says which
    * have one.
    */
  def isSingle(part: Int, node: ViewNode): Boolean

  /** Whether a tuple has a position in a part in which none has more than one. */
  def contains(part: Int, node: ViewNode, tuple: Int): Boolean

  /** Splits a position under a tuple into its digits. */
  def split(part: Int, node: ViewNode, tuple: Int, position: Wide, digits: Digits): Unit
}

/** The digits of a position under a tuple. They are taken off its lower end, one after the other.
  *
  * @param children the most that a node has
  */
final private[engine] class Digits(children: Int) {
  private[this] val divisor = new Wide
  private[this] val remainder = new Wide

  /** Which copy of the tuple. */
  var copy: Long = 0L

  /** By child, the part and the position under the tuple's key towards it. */
  val parts = new Array[Int](children)
  val positions: Array[Wide] = Array.fill(children)(new Wide)

  /** Takes the copy off, of which there are `copies`. */
  def takeCopy(position: Wide, copies: Long): Unit =
    if (copies == 1L) copy = 0L
    else {
      divisor.set(copies)
      position.divide(divisor, remainder)
      copy = remainder.low
    }

  /** Takes the position under child `c` off, where the part has `count` positions. */
  def take(position: Wide, c: Int, part: Int, count: Wide): Unit = {
    parts(c) = part
    position.divide(count, positions(c))
  }
}
