package io.joinless.spark.source

import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.positions.{ChosenPositions, Located, Positions}
import io.joinless.engine.sample.ThinnedPositions
import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.rows.OutputRow
import org.apache.spark.TaskContext
import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow

/** The positions that are read of a cell.
  *
  * @param atMost how many they are expected to be, at most
  * @param key of a position in the chunk that was read last
  */
final private[source] case class Chosen(positions: ChosenPositions, atMost: BigInt, key: Option[Int => Double] = None)

/** The rows of one cell by their positions.
  *
  * Few rows are read from the tree of a running query, if there is one, and copied: the query's
  * tree is free again before the first row is returned. Else the tree is rebuilt from the log, and
  * rows are found chunk by chunk.
  */
final private[source] class CellPositions(scan: ResultCells, cell: Int) extends AutoCloseable {
  import CellPositions._

  private[this] val tree = scan.tree(cell)

  /** The number of positions. */
  def total: BigInt = scan.counted(cell) {
    tree.ofRunning(new Positions(_).total).getOrElse(new Positions(tree.rebuilt(scan.kept)).total)
  }

  /** The rows at chosen positions, but for those that are rejected. The same object each time.
    *
    * If hardly any position is a row, all rows are enumerated: that leaves out what is rejected
    * early. So are those of a bag, which have no positions; their order depends on the log alone.
    *
    * @param choose called at most once, with the number of positions
    * @param ofAll chooses among the rows of an enumeration
    */
  def rows(
      choose: BigInt => Chosen,
      ofAll: Iterator[InternalRow] => Iterator[InternalRow] = identity
  ): Iterator[InternalRow] = if (scan.spec.isBag) ofAll(enumerated)
  else scan.counted(cell) {
    var chosen: Option[Chosen] = None
    def of(positions: Positions): Chosen = {
      chosen = Some(chosen.getOrElse(choose(positions.total)))
      chosen.get
    }
    val ofRunning =
      if (scan.rejects) None // how many are looked at is not known
      else tree.ofRunning { tree =>
        val positions = new Positions(tree)
        val few = Option(of(positions)).filter(_.atMost <= FewRows)
        few.map(read(tree, positions, _).map(_.copy()).to(ArrayBuffer))
      }.flatten
    ofRunning.fold {
      val (own, positions) = ownPositions()
      if (isSparse(own, positions)) ofAll(new EnumeratedRows(scan, own, cell).iterator)
      else read(own, positions, of(positions))
    }(_.iterator)
  }

  /** All rows. */
  private def enumerated: Iterator[InternalRow] = new EnumeratedRows(scan, own(), cell).iterator

  /** A tree of the reader's own. */
  def own(): ViewTree = tree.rebuilt(scan.kept)

  /** Whether of some positions, always the same ones, hardly any is a row. */
  private def isSparse(tree: ViewTree, positions: Positions): Boolean = {
    val total = positions.total
    scan.rejects && total > Probes && {
      val probes = new ThinnedPositions((BigDecimal(Probes) / BigDecimal(total)).toDouble, false, 0L, total)
      read(tree, positions, Chosen(probes, Probes)).take(Probes / Sparse).size < Probes / Sparse
    }
  }

  /** A tree of the reader's own, with its positions. */
  def ownPositions(): (ViewTree, Positions) = scan.counted(cell) {
    val rebuilt = own()
    val positions = new Positions(rebuilt)
    tree.keepBeside(positions.bytes)
    (rebuilt, positions)
  }

  private def read(tree: ViewTree, positions: Positions, chosen: Chosen): Iterator[InternalRow] = {
    val rows = new RowsAt(scan, tree, cell)
    val keyed = chosen.key.map(_ -> scan.keyed)
    Iterator.continually(scan.counted(cell)(positions.next(chosen.positions))).takeWhile(_.size > 0).flatMap {
      located =>
        if (Option(TaskContext.get()).exists(_.isInterrupted())) throw new TaskKilledException
        located.indices.flatMap { i =>
          val row = rows(located, i)
          if (row == null) None else Some(keyed.fold(row) { case (key, add) => add(row, key(i)) })
        }
    }
  }

  override def close(): Unit = tree.close()
}

private[source] object CellPositions {

  /** So many rows are copied while a running query may wait. */
  final val FewRows = 1 << 16

  /** Rows are enumerated if fewer than one in so many positions is a row, by so many probes. */
  final private val Sparse = 256
  final private val Probes = 1 << 16

  /** The rows of located results. */
  final class RowsAt(scan: ResultCells, tree: ViewTree, cell: Int) {
    private[this] val arenaOf = scan.arenas(tree)
    private[this] val output = new OutputRow(scan.spec, arenaOf)
    private[this] val shown = scan.shown(cell)

    // those that can fail read all relations, and come last
    private[this] val residuals = scan.residualsOver(arenaOf).sortBy(_.relations.size).toArray

    /** The stored rows of the result, by relation. */
    val ids = new Array[Int](scan.spec.relations.size)

    /** A result as a row, the same object each time; null if it is rejected. */
    def apply(located: Located, i: Int): InternalRow = {
      located.readRows(i, ids)
      if (residuals.forall(_.accept(ids))) shown(output.update(ids, AllRelations)) else null
    }
  }

  final private val AllRelations = -1L

  implicit final private class LocatedIndices(private val located: Located) extends AnyVal {
    def indices: Iterator[Int] = Iterator.range(0, located.size)
  }
}
