package io.joinless.engine.update

import java.util.Arrays

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.PagedInts

/** Adds up (consolidates) the changes of a batch per row id and relation, and keeps the net change
  * with the count before the batch (algorithms A29).
  *
  * An ''entry'' represents all roles (relations, a bit set) of a row that have the same count and
  * the same net change: mostly one per row, since a row is inserted into all relations of a
  * self-join at once. A change that names only some of an entry's roles splits it. Entries are in
  * the order of their first change; those of one row form a chain.
  */
final private[update] class Net(inputs: Int) {
  import Net._

  // row -> 1 + the first entry of its chain
  private[this] val firstEntries = Array.fill(inputs)(new PagedInts)
  private[this] var words =
    // per entry: next in the chain (1 + entry) and row, roles, count before, change
    new Array[Long](16 * Width)
  private[this] var entries = 0

  /** The number of entries of all rows. */
  def size: Int = entries

  /** Of an entry: the row's id, its roles (bit set), the count before the batch, and the net
    * change.
    */
  def row(entry: Int): Int = words(Width * entry).toInt
  def roles(entry: Int): Long = words(Width * entry + Roles)
  def before(entry: Int): Long = words(Width * entry + Before)
  def change(entry: Int): Long = words(Width * entry + Change)

  /** The first entry of a row; −1 if the batch does not change it. */
  def first(input: Int, row: Int): Int = firstEntries(input)(row) - 1

  /** The row's next entry; −1 behind the last one. */
  def next(entry: Int): Int = (words(Width * entry) >>> 32).toInt - 1

  /** The entry of a row's relation; −1 if the batch does not change it. */
  def entry(input: Int, relation: Int, row: Int): Int = {
    var e = first(input, row)
    while (e >= 0 && (roles(e) >>> relation & 1L) == 0L) e = next(e)
    e
  }

  /** Adds a further change of these roles of a row. Returns those of them that have no entry yet.
    */
  def add(input: Int, row: Int, roles: Long, weight: Long): Long = {
    var rolesLeft = roles
    var e = first(input, row)
    while (e >= 0 && rolesLeft != 0L) {
      val named = this.roles(e) & rolesLeft
      if (named != 0L) {
        if (named != this.roles(e)) split(e, named)
        words(Width * e + Change) = Weight.add(change(e), weight)
        rolesLeft &= ~named
      }
      e = next(e)
    }
    rolesLeft
  }

  /** Opens an entry: the first change of these roles of a row, whose count is `before` in each. */
  def open(input: Int, row: Int, roles: Long, before: Long, weight: Long): Unit = {
    append(firstEntries(input)(row), row, roles, before, weight)
    firstEntries(input)(row) = entries
  }

  /** Reduces an entry to `roles`, and moves its other roles to a new entry behind it. */
  private def split(entry: Int, roles: Long): Unit = {
    append(1 + next(entry), row(entry), this.roles(entry) & ~roles, before(entry), change(entry))
    words(Width * entry) = entries.toLong << 32 | row(entry)
    words(Width * entry + Roles) = roles
  }

  /** Appends an entry; `next` is 1 + the next entry of its row, or 0. */
  private def append(next: Int, row: Int, roles: Long, before: Long, change: Long): Unit = {
    val at = Width * entries
    if (at == words.length) words = Arrays.copyOf(words, 2 * at)
    words(at) = next.toLong << 32 | row
    words(at + Roles) = roles
    words(at + Before) = before
    words(at + Change) = change
    entries += 1
  }

  /** Removes all entries.
    *
    * @param inputOf the input of each relation
    */
  def clear(inputOf: Array[Int]): Unit = while (entries > 0) {
    entries -= 1
    firstEntries(inputOf(java.lang.Long.numberOfTrailingZeros(roles(entries))))(row(entries)) = 0
  }
}

private object Net {
  final val Width = 4
  final val Roles = 1
  final val Before = 2
  final val Change = 3
}
