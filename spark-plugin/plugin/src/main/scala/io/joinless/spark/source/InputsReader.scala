package io.joinless.spark.source

import scala.collection.mutable

import io.joinless.spark.placement.Cells
import io.joinless.spark.spec.{BlockSpec, Roles}
import io.joinless.spark.state.{CommittedStores, RowWords}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.joinless.CellBlocks
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

final private[source] case class InputsReaderFactory(
    spec: BlockSpec,
    relations: Seq[Int],
    asStruct: Boolean,
    timeZone: String,
    stores: CommittedStores,
    cacheMaxBytes: Long
) extends CellReaderFactory {

  override protected def reader(cell: Int): PartitionReader[InternalRow] = new InputsReader(this, cell)
}

/** The stored rows of one cell, but those that an earlier cell holds too.
  *
  * Rows of append-only inputs are read straight from the log, block by block. For a row of a
  * changelog the log holds several counts, of which the latest is valid: these rows are read from
  * the rebuilt view tree, after the others.
  */
final private[source] class InputsReader(scan: InputsReaderFactory, cell: Int) extends PartitionReader[InternalRow] {
  private[this] val spec = scan.spec
  private[this] val roles: Long = Roles.of(scan.relations.filter(Cells.isFirst(spec, _, cell)))
  private[this] val ofChangelogs: Long =
    Roles.of(spec.relations.indices.filter(r => spec.inputs(spec.relations(r).input).retractable))
  private[this] val stored = spec.relations.indices.map(r => new StoredRow(scan, r)).toArray
  private[this] val tree = new CellTree(spec, scan.stores, cell, scan.cacheMaxBytes)
  private[this] var log: CellBlocks = _
  private[this] var rows: Iterator[InternalRow] = _
  private[this] var current: InternalRow = _

  override def next(): Boolean = {
    if (rows == null) rows = appended() ++ counted()
    val more = rows.hasNext
    current = if (more) rows.next() else null
    more
  }

  override def get(): InternalRow = current

  override def close(): Unit = {
    rows = Iterator.empty
    if (log != null) log.close()
    tree.close()
  }

  /** The rows of append-only inputs, block by block. Rows are copied out of a block before the next
    * one is read.
    */
  private def appended(): Iterator[InternalRow] = {
    val wanted = roles & ~ofChangelogs
    if (wanted == 0L) Iterator.empty
    else {
      log = scan.stores.open(cell)
      val reader = tree.logReader((roles, _, _, _) => roles & wanted)
      val block = mutable.ArrayBuffer.empty[(Long, UnsafeRow)]
      log.blocks.flatMap { case (key, value) =>
        block.clear()
        reader.read(key, value) { (roles, _, input, base, offset, bytes) =>
          val row = new UnsafeRow(spec.inputs(input).columns.size)
          row.pointTo(base, offset, bytes)
          block += roles -> row
        }
        block.iterator.flatMap { case (roles, row) => relationsOf(roles).map(stored(_)(row, 1L)) }
      } ++ Iterator.single(()).flatMap { _ =>
        val _ = reader.finish(); Iterator.empty[InternalRow]
      }
    }
  }

  /** The rows of changelogs, with their counts. */
  private def counted(): Iterator[InternalRow] = {
    val wanted = roles & ofChangelogs
    if (wanted == 0L) Iterator.empty
    else {
      val views = tree.rebuilt((roles, _, _, _) => roles & wanted)
      for {
        r <- relationsOf(wanted)
        input = spec.relations(r).input
        arena = views.arena(input)
        view = new UnsafeRow(spec.inputs(input).columns.size)
        row <- (0 until arena.limit).iterator if views.multiplicity(r, row) != 0L
      } yield {
        view.pointTo(arena.page(row), RowWords.offset(arena, row), 8 * arena.words(row))
        stored(r)(view, views.multiplicity(r, row))
      }
    }
  }

  /** The relations in a bit set. */
  private def relationsOf(roles: Long): Iterator[Int] =
    spec.relations.indices.iterator.filter(Roles.contains(roles, _))
}

/** Rows of one relation as output rows. The same object each time. */
final private[source] class StoredRow(scan: InputsReaderFactory, relation: Int) {
  private[this] val name = UTF8String.fromString(scan.spec.relations(relation).name)
  private[this] val struct = StoredRow.struct(scan.spec, relation)
  private[this] val columns = new GenericInternalRow(3)
  private[this] val content: Expression = {
    val row = BoundReference(2, struct, nullable = false)
    if (scan.asStruct) row
    else StructsToJson(Map("ignoreNullFields" -> "false"), row, Some(scan.timeZone)).replacement
  }
  private[this] val project = UnsafeProjection.create(
    Seq(BoundReference(0, StringType, nullable = false), BoundReference(1, LongType, nullable = false), content)
  )

  /** The output row of a stored row, with its count. */
  def apply(row: UnsafeRow, count: Long): InternalRow = {
    columns.update(0, name)
    columns.update(1, count)
    columns.update(2, row)
    project(columns)
  }
}

private[source] object StoredRow {

  /** The stored columns of a relation. */
  def struct(spec: BlockSpec, relation: Int): StructType = {
    val columns = spec.inputs(spec.relations(relation).input).columns
    StructType(DistinctNames(columns.map(_.name)).zip(columns).map { case (name, column) =>
      StructField(name, column.dataType)
    })
  }
}
