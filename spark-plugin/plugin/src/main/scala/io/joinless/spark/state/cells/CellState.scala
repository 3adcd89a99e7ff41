package io.joinless.spark.state.cells

import io.joinless.engine.view.{RowStore, ViewTree}
import io.joinless.spark.state.log.LogEnd

/** The state of a cell: views that hold the content of the store at some version, the end of the
  * log, and what else cells of its kind need. Each kind of cell has a class of its own, with its
  * parts as members.
  *
  * Views, and parts that are changed in place, belong to one task at a time ([[ViewTreeCache]]).
  *
  * @param log the end of the log at that version
  */
abstract class CellState(val log: LogEnd) {
  private[this] var most = 0L

  /** A view tree, or sums ([[io.joinless.engine.reduce.ReducedJoin]]) if results are only counted.
    */
  def views: RowStore

  /** Bytes of everything but the views. */
  protected def bytesOfParts: Long

  /** Rows that are present. The views may hold others, which are removed later. */
  def rows: Long = views.rows

  /** Entries in the log. */
  def logRows: Long

  /** Rows of changelogs with a negative count in some relation. */
  def negativeRows: Long = 0L

  /** The number of results, where it is known. */
  def results: Option[BigInt] = None

  /** The least watermark at which a row is evicted or expires; the greatest long if there is none.
    */
  def nextEnd: Long = Long.MaxValue

  final def bytes: Long = views.bytes + bytesOfParts

  /** By input, a bound of the ids of the rows from before the last batch: that batch only inserted
    * rows, whose ids are not below it. None if other rows may have changed, or if ids were reused.
    */
  def before: Option[IndexedSeq[Int]] = None

  /** Notes that this state is the successor of an earlier one, with the same views. */
  final def follows(before: CellState): Unit = most = math.max(before.mostRows, views.rows)

  /** The greatest number of rows since the views were built. */
  final def mostRows: Long = most

  /** Whether most rows were deleted. Views do not release their memory; views that are rebuilt from
    * the log have no more than they need. A rebuild costs less than the deletions did.
    */
  final def isRoomy: Boolean = views.rows < most / CellState.Roomy && bytes > CellState.FewBytes

  /** The views of a block whose results are enumerated. */
  final def tree: ViewTree = views match {
    case tree: ViewTree => tree
    case _ => throw new IllegalStateException("results that are counted have no view tree")
  }
}

object CellState {

  /** Views with memory for this many times the present rows are rebuilt. */
  final val Roomy = 4

  final private val FewBytes = 1L << 20
}
