package io.joinless.spark.source

import org.apache.spark.sql.connector.read.InputPartition

/** Which rows of a complete result a scan reads.
  *
  * The order of a result is: cells by number, in each cell its positions
  * ([[io.joinless.engine.positions.Positions]]). It depends on the rows of the batch alone. Pages
  * are in this order; whole results are enumerated in another one, which costs less.
  */
sealed trait Reading

object Reading {

  /** All rows, in any order. */
  case object Whole extends Reading

  /** One row per cell: the number of its rows, in so many columns. */
  final case class Numbers(columns: Int) extends Reading

  /** The rows from number `from` to below `until` in the order of the result. */
  final case class Page(from: BigInt, until: Option[BigInt]) extends Reading

  /** Each row with the same chance, independently; with replacement as often as a Poisson number
    * says.
    */
  final case class Thinned(fraction: Double, replacement: Boolean, seed: Long) extends Reading

  /** Candidates of each cell for a uniform sample of so many rows, with a key as last column: the
    * rows with the smallest keys of all cells are the sample.
    */
  final case class Drawn(size: Int, replacement: Boolean, seed: Long) extends Reading
}

/** One store of an operator: that of a cell, or of a partition of groups.
  *
  * @param at the executors that may hold its state
  */
final private[source] case class CellPartition(cell: Int, at: Seq[String] = Nil) extends InputPartition {
  override def preferredLocations: Array[String] = at.toArray
}

/** Rows of some cells in their order, cell after cell.
  *
  * @param skip how many rows are left out first
  * @param size the most rows that are read; None: all
  */
final private[source] case class PagePartition(
    cells: Seq[Int],
    skip: BigInt,
    size: Option[BigInt],
    at: Seq[String] = Nil
) extends InputPartition {
  override def preferredLocations: Array[String] = at.toArray
}
