package io.joinless.spark.source

import io.joinless.engine.enumerate.FullEnumeration
import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.rows.{OutputRow, ResidualPredicates}
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.CommittedStores
import io.joinless.spark.state.log.ChangeLogReader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{And, BoundReference, Expression, Predicate, UnsafeProjection}
import org.apache.spark.sql.connector.read.PartitionReader

/** The result rows of one cell: its view tree is rebuilt from the log, then enumerated row by row,
  * on demand.
  *
  * Memory is that of the tree ([[CellTree]]); it is released by `close`. Cost: the log once, then
  * constant delay between rows but for those that `residuals` and `filters` reject. The same row
  * object is returned every time.
  */
final private class ResultReader(scan: ResultReaderFactory, cell: Int) extends PartitionReader[InternalRow] {
  private[this] val spec = scan.spec
  private[this] val tree = new CellTree(spec, scan.stores, cell, scan.cacheMaxBytes)
  private[this] var results: Results = _
  private[this] var current: InternalRow = _
  private[this] var copies = 0L // of the current row, still to be returned

  /** The roles of rows that are read: all, or those that pass conditions that were pushed down. */
  private def kept: ChangeLogReader.Keep =
    if (scan.taken.isEmpty) ChangeLogReader.All else new PushedFilters(spec, scan.taken)

  /** Moves to the next row: a result is read as many times as its weight says. */
  override def next(): Boolean = {
    if (results == null) results = new Results(tree.rebuilt(kept))
    if (copies > 0L) copies -= 1
    else {
      current = results.next()
      if (current != null) copies = results.weight - 1
    }
    current != null
  }

  override def get(): InternalRow = current

  override def close(): Unit = {
    results = null
    tree.close()
  }

  /** Enumerates a tree that does not change any more. */
  final private class Results(tree: ViewTree) {
    private[this] val arenas = spec.inputs.indices.map(tree.arena).toArray
    private[this] val arenaOf: Int => TupleArena = r => arenas(spec.relations(r).input)
    private[this] val enumeration =
      new FullEnumeration(tree, ResidualPredicates.compile(spec, scan.residuals, arenaOf))
    private[this] val output = new OutputRow(spec, arenaOf, words = tree.words, place = tree.location)
    private[this] val filter = scan.filters.reduceOption(And(_, _)).map { condition =>
      val predicate = Predicate.create(condition)
      predicate.initialize(cell)
      predicate
    }
    private[this] val project = Option.unless(isPlain)(UnsafeProjection.create(scan.values))

    /** Returns the next row that passes; null after the last one. */
    def next(): InternalRow = {
      while (enumeration.next()) {
        val row = output.update(enumeration)
        if (filter.forall(_.eval(row))) return project.fold[InternalRow](row)(_(row))
      }
      null
    }

    /** The multiplicity of the result. */
    def weight: Long = enumeration.weight
  }

  /** Whether the output is just the columns of results. */
  private def isPlain: Boolean = scan.values.size == spec.output.size && scan.values.zipWithIndex.forall {
    case (BoundReference(at, _, _), i) => at == i
    case _ => false
  }
}

/** The data that a task needs to enumerate a cell; all expressions by position, `values` and
  * `filters` over `spec.output`.
  */
final private case class ResultReaderFactory(
    spec: BlockSpec,
    residuals: Seq[Expression],
    values: Seq[Expression],
    filters: Seq[Expression],
    taken: Seq[RelationFilter],
    stores: CommittedStores,
    cacheMaxBytes: Long
) extends CellReaderFactory {

  override protected def reader(cell: Int): PartitionReader[InternalRow] = new ResultReader(this, cell)
}
