package io.joinless.spark.source

import io.joinless.spark.spec.{BlockSpec, Roles}
import io.joinless.spark.state.CommittedStores
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.read.PartitionReader
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

/** The stored rows of one cell, but those that an earlier cell holds too, once for each role. */
final private[source] class InputsReader(scan: InputsReaderFactory, cell: Int) extends PartitionReader[InternalRow] {
  private[this] val stored = scan.spec.relations.indices.map(r => new StoredRow(scan, r)).toArray
  private[this] val all = new StoredRows(scan.spec, scan.stores, cell, Roles.of(scan.relations), scan.cacheMaxBytes)
  private[this] var rows: Iterator[InternalRow] = _
  private[this] var current: InternalRow = _

  override def next(): Boolean = {
    if (rows == null) rows = all.rows.flatMap { row =>
      scan.spec.relations.indices.iterator.filter(Roles.contains(row.roles, _)).map(stored(_)(row.columns, row.count))
    }
    val more = rows.hasNext
    current = if (more) rows.next() else null
    more
  }

  override def get(): InternalRow = current

  override def close(): Unit = {
    rows = Iterator.empty
    all.close()
  }
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
