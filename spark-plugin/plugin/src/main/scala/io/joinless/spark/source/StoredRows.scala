package io.joinless.spark.source

import scala.collection.mutable

import io.joinless.spark.placement.Cells
import io.joinless.spark.spec.{BlockSpec, Roles}
import io.joinless.spark.state.{CommittedStores, RowWords}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.CellBlocks

/** The stored rows of some relations in one cell, but those that an earlier cell holds too.
  *
  * Rows of append-only inputs are read straight from the log, block by block. For a row of a
  * changelog the log holds several counts, of which the latest is valid: these rows are read from
  * the rebuilt view tree, after the others, once for each of their roles.
  *
  * @param wanted the relations, a bit set
  */
final private[source] class StoredRows(
    spec: BlockSpec,
    stores: CommittedStores,
    cell: Int,
    wanted: Long,
    cacheMaxBytes: Long
) extends AutoCloseable {
  private[this] val roles: Long =
    wanted & Roles.of(spec.relations.indices.filter(Cells.isFirst(spec, _, cell)))
  private[this] val ofChangelogs: Long =
    Roles.of(spec.relations.indices.filter(r => spec.inputs(spec.relations(r).input).retractable))
  private[this] val tree = new CellTree(spec, stores, cell, cacheMaxBytes)
  private[this] var log: CellBlocks = _

  /** All of them, to be read once. */
  def rows: Iterator[StoredRows.Row] = appended() ++ counted()

  override def close(): Unit = {
    if (log != null) log.close()
    tree.close()
  }

  /** The rows of append-only inputs, block by block. Rows are copied out of a block before the next
    * one is read.
    */
  private def appended(): Iterator[StoredRows.Row] = {
    val wanted = roles & ~ofChangelogs
    if (wanted == 0L) Iterator.empty
    else {
      log = stores.open(cell)
      val reader = tree.logReader((roles, _, _, _) => roles & wanted)
      val block = mutable.ArrayBuffer.empty[StoredRows.Row]
      log.blocks.flatMap { case (key, value) =>
        block.clear()
        reader.read(key, value) { (roles, _, input, base, offset, bytes) =>
          val row = new UnsafeRow(spec.inputs(input).columns.size)
          row.pointTo(base, offset, bytes)
          block += StoredRows.Row(roles, 1L, row)
        }
        block.iterator
      } ++ Iterator.single(()).flatMap { _ =>
        val _ = reader.finish(); Iterator.empty[StoredRows.Row]
      }
    }
  }

  /** The rows of changelogs, with their counts. */
  private def counted(): Iterator[StoredRows.Row] = {
    val wanted = roles & ofChangelogs
    if (wanted == 0L) Iterator.empty
    else {
      val views = tree.rebuilt((roles, _, _, _) => roles & wanted)
      for {
        r <- spec.relations.indices.iterator.filter(Roles.contains(wanted, _))
        input = spec.relations(r).input
        arena = views.arena(input)
        view = new UnsafeRow(spec.inputs(input).columns.size)
        row <- (0 until arena.limit).iterator if views.multiplicity(r, row) != 0L
      } yield {
        view.pointTo(arena.page(row), RowWords.offset(arena, row), 8 * arena.words(row))
        StoredRows.Row(1L << r, views.multiplicity(r, row), view)
      }
    }
  }
}

private[source] object StoredRows {

  /** A stored row. The columns may be the same object in each row.
    *
    * @param roles its relations, a bit set
    * @param count its multiplicity
    */
  final case class Row(roles: Long, count: Long, columns: UnsafeRow)
}
