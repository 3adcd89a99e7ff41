package io.joinless.engine.update

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.{IntStack, PagedBytes, PagedLongs}

/** Adds up (consolidates) the changes of a batch per (relation, row id): what is left is the net change, one per pair
  * (algorithms A29).
  *
  * Entries come in the order of their first change.
  */
final private[update] class Net(relations: Int) {
  private[this] val sums = Array.fill(relations)(new PagedLongs)
  private[this] val seen = Array.fill(relations)(new PagedBytes)
  private[this] val entryRelations = new IntStack
  private[this] val entryRows = new IntStack

  def size: Int = entryRows.size
  def relation(entry: Int): Int = entryRelations(entry)
  def row(entry: Int): Int = entryRows(entry)
  def change(entry: Int): Long = change(relation(entry), row(entry))
  def change(relation: Int, row: Int): Long = sums(relation)(row)

  /** @return true where the pair is new in this batch */
  def add(relation: Int, row: Int, weight: Long): Boolean = {
    sums(relation)(row) = Weight.add(sums(relation)(row), weight)
    seen(relation)(row) == 0 && {
      seen(relation)(row) = 1
      entryRelations.push(relation)
      entryRows.push(row)
      true
    }
  }

  def clear(): Unit = {
    while (!entryRows.isEmpty) {
      val (relation, row) = (entryRelations.pop(), entryRows.pop())
      sums(relation)(row) = 0L
      seen(relation)(row) = 0
    }
  }
}
