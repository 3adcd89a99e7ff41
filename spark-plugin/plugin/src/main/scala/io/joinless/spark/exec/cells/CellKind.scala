package io.joinless.spark.exec.cells

import scala.reflect.ClassTag

import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.cells.{CellState, FirstBatch, Undo}
import org.apache.spark.sql.catalyst.InternalRow

/** A kind of cell: what its state consists of, and all that depends on it. A block has one kind of
  * cell for the life of its checkpoint ([[CellKinds]]).
  * {{{
  * state     the views, the end of the log, further parts            empty, rebuild
  * a batch   rows in, results out; what is written to the log        task
  *           and which blocks are cleaned; how it is rolled back
  * }}}
  * A new kind is a file with an object of this class, its state and its task, and a line in
  * [[CellKinds]].
  */
abstract private[spark] class CellKind[S <: CellState](implicit tag: ClassTag[S]) {

  /** Whether the cells of this block are of this kind. Of each block exactly one kind of cell is.
    */
  def fits(spec: BlockSpec): Boolean

  /** Rows of the exchange have weights, and are counted. */
  def isWeighted: Boolean

  /** Whether rows are removed when the watermark passes a time of theirs. */
  def endsRows(spec: BlockSpec): Boolean

  /** The state of a cell with an empty log. */
  def empty(spec: BlockSpec): S

  /** The state of a cell, from its log. */
  def rebuild(log: LogReplay): S

  /** One batch from this state on. */
  protected def newTask(context: CellContext, state: S, rows: Iterator[InternalRow]): CellTask

  /** One batch from a state of this kind on. */
  final def task(context: CellContext, state: CellState, rows: Iterator[InternalRow]): CellTask = state match {
    case own: S => newTask(context, own, rows)
    case other => throw new IllegalStateException(s"${other.getClass.getName} is the state of another kind of cell")
  }

  /** Rolls back the first batch of a cell, however large: the state before it is an empty one. */
  final protected[exec] def firstBatch(spec: BlockSpec): Undo = new FirstBatch(() => empty(spec))
}
