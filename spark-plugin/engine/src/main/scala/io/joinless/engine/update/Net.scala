package io.joinless.engine.update

import java.util.Arrays

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.{IntStack, PagedInts}

/** Adds up (consolidates) the changes of a batch per (relation, row id): what is left is the net change, one per pair
  * (algorithms A29), beside the pair's count before the batch.
  *
  * Entries come in the order of their first change.
  */
final private[update] class Net(relations: Int) {
  private[this] val places = Array.fill(relations)(new PagedInts) // row -> 1 + its entry
  private[this] val entryRelations = new IntStack
  private[this] val entryRows = new IntStack
  private[this] var numbers = new Array[Long](32) // per entry the count before, and the change

  def size: Int = entryRows.size
  def relation(entry: Int): Int = entryRelations(entry)
  def row(entry: Int): Int = entryRows(entry)
  def before(entry: Int): Long = numbers(2 * entry)
  def change(entry: Int): Long = numbers(2 * entry + 1)

  /** The pair's entry; −1 where the batch does not name it. */
  def entry(relation: Int, row: Int): Int = places(relation)(row) - 1

  /** A first change of a pair whose count is `before`. */
  def open(relation: Int, row: Int, before: Long, weight: Long): Unit = {
    val entry = size
    places(relation)(row) = entry + 1
    entryRelations.push(relation)
    entryRows.push(row)
    if (2 * entry == numbers.length) numbers = Arrays.copyOf(numbers, 4 * entry)
    numbers(2 * entry) = before
    numbers(2 * entry + 1) = weight
  }

  /** One more change of an entry's pair. */
  def add(entry: Int, weight: Long): Unit = numbers(2 * entry + 1) = Weight.add(numbers(2 * entry + 1), weight)

  def clear(): Unit = while (!entryRows.isEmpty) places(entryRelations.pop())(entryRows.pop()) = 0
}
