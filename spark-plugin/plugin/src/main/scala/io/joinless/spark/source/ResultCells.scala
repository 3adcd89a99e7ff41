package io.joinless.spark.source

import java.util.UUID

import io.joinless.engine.algebra.CountOverflow
import io.joinless.engine.enumerate.Residual
import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.ViewTree
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.rows.ResidualPredicates
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.CommittedStores
import io.joinless.spark.state.log.ChangeLogReader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.DoubleType

/** The data that tasks need to read a complete result cell by cell; all expressions by position,
  * `values` and `filters` over `spec.output`.
  *
  * @param running the run of a query whose trees may be read by positions
  * @param lookedUpIn the run of a query in whose trees rows may be looked up by `taken`
  */
final private[source] case class ResultCells(
    spec: BlockSpec,
    residuals: Seq[Expression],
    values: Seq[Expression],
    filters: Seq[Expression],
    taken: Seq[RelationFilter],
    stores: CommittedStores,
    running: Option[UUID],
    lookedUpIn: Option[UUID],
    cacheMaxBytes: Long
) {

  /** Whether some positions are no rows of the result, or results have none: those of a bag. */
  def rejects: Boolean = ResultCells.rejects(spec, residuals, filters)

  def tree(cell: Int): CellTree = new CellTree(spec, stores, cell, cacheMaxBytes, running)

  /** The stored rows that are read. */
  def kept: ChangeLogReader.Keep =
    if (taken.isEmpty) ChangeLogReader.All else new PushedFilters(spec, taken)

  /** The arena of each relation. */
  def arenas(tree: ViewTree): Int => TupleArena = {
    val all = spec.inputs.indices.map(tree.arena).toArray
    r => all(spec.relations(r).input)
  }

  def residualsOver(arenaOf: Int => TupleArena): IndexedSeq[Residual] =
    ResidualPredicates.compile(spec, residuals, arenaOf)

  /** A row over `spec.output` as the row that is read; null if a filter rejects it. It may be the
    * same object each time.
    */
  def shown(cell: Int): InternalRow => InternalRow = {
    val filter = filters.reduceOption(And(_, _)).map { condition =>
      val predicate = Predicate.create(condition)
      predicate.initialize(cell)
      predicate
    }
    val project = Option.unless(isPlain)(UnsafeProjection.create(values))
    row => if (filter.forall(_.eval(row))) project.fold(row)(_(row)) else null
  }

  private def isPlain: Boolean = values.size == spec.output.size && values.zipWithIndex.forall {
    case (BoundReference(at, _, _), i) => at == i
    case _ => false
  }

  /** A row that is read, with its key as last column. The same object each time. */
  def keyed: (InternalRow, Double) => InternalRow = {
    val columns = values.map(_.dataType) :+ DoubleType
    val project = UnsafeProjection.create(columns.toArray)
    val (joined, key) = (new JoinedRow, new GenericInternalRow(1))
    (row, k) => {
      key.setDouble(0, k)
      project(joined(row, key))
    }
  }

  /** What the engine computes; numbers that are too large are an error that says so. */
  def counted[A](cell: Int)(body: => A): A =
    try body
    catch { case _: CountOverflow => throw JoinlessErrors.countBeyond127Bits(cell) }
}

private[source] object ResultCells {

  /** Whether some positions are no rows of a result with these conditions, or it has none. */
  def rejects(spec: BlockSpec, residuals: Seq[Expression], filters: Seq[Expression]): Boolean =
    residuals.nonEmpty || filters.nonEmpty || spec.isBag
}
