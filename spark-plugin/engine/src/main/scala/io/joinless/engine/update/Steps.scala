package io.joinless.engine.update

import java.util.Arrays

import io.joinless.engine.tuples.IntStack

/** A growable list of steps of a batch. A step is an entry of the net batch, and the subset of its
  * roles (bit set) to change.
  */
final private[update] class Steps {
  private[this] val entries = new IntStack
  private[this] var sets = new Array[Long](16)

  def size: Int = entries.size

  /** Of the step at a position: its entry, and below the roles to change (bit set). */
  def entry(at: Int): Int = entries(at)
  def roles(at: Int): Long = sets(at)

  /** Adds a step, unless `roles` is empty. */
  def push(entry: Int, roles: Long): Unit = if (roles != 0L) {
    if (entries.size == sets.length) sets = Arrays.copyOf(sets, 2 * sets.length)
    sets(entries.size) = roles
    entries.push(entry)
  }

  def pushAll(steps: Steps): Unit = {
    var i = 0
    while (i < steps.size) { push(steps.entry(i), steps.roles(i)); i += 1 }
  }

  def clear(): Unit = entries.clear()
}
