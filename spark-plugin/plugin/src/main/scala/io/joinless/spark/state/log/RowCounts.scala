package io.joinless.spark.state.log

import io.joinless.engine.view.{BlockDef, RowStore}

/** The counts of one row of a changelog input, one per role. Roles with the same count are
  * combined: they share an entry of the log. Roles of count 0 have no entry.
  */
final class RowCounts(block: BlockDef) {
  private[this] val groupRoles = new Array[Long](block.relations.size)
  private[this] val groupCounts = new Array[Long](block.relations.size)
  private[this] var groups = 0

  private[this] var anyNegative = false

  /** Whether some count is negative. */
  def hasNegatives: Boolean = anyNegative

  /** The number of entries in the log: one per distinct count but 0, shared by the roles that have
    * it.
    */
  def size: Int = groups

  /** The roles (bit set) that have a count, and below the count itself. */
  def roles(group: Int): Long = groupRoles(group)
  def count(group: Int): Long = groupCounts(group)

  /** Relations of the input, the roles that its rows can have. */
  def relations(input: Int): Array[Int] = block.relationsOf(input)

  /** Forgets the row. */
  def clear(): Unit = {
    groups = 0
    anyNegative = false
  }

  /** Reads the counts of a row from the views. */
  def read(views: RowStore, input: Int, row: Int): Unit = {
    clear()
    val relations = block.relationsOf(input)
    var i = 0
    while (i < relations.length) { add(relations(i), views.multiplicity(relations(i), row)); i += 1 }
  }

  /** Adds a relation in which the row has this count to those with the same count; 0 is not listed.
    */
  def add(relation: Int, count: Long): Unit = if (count != 0L) {
    var g = 0
    while (g < groups && groupCounts(g) != count) g += 1
    if (g == groups) {
      groupRoles(g) = 0L
      groupCounts(g) = count
      groups += 1
      if (count < 0) anyNegative = true
    }
    groupRoles(g) |= 1L << relation
  }
}
