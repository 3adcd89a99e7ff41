package io.joinless.spark.source

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.spec.{BlockSpec, ResultSpec, Roles}
import io.joinless.spark.state.CommittedStores
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, JoinedRow, UnsafeProjection}
import org.apache.spark.sql.connector.read.{PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{LongType, StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The rows that a block stores of one input, for another query that begins with them: `roles
  * BIGINT`, a bit set of relations, `count BIGINT`, then the stored columns. A row may be returned
  * in several parts: with some of its roles, or with some of its copies.
  *
  * @param copies rows are returned copy by copy
  */
final private[spark] case class StoredRowsTable(snapshot: Snapshot, input: Int, relations: Seq[Int], copies: Boolean)
    extends WholeTable {
  import snapshot.spec

  override def name: String = s"joinless.`${snapshot.checkpoint}`.rows"

  override def readSchema(): StructType = StructType(
    Seq("roles", "count").map(StructField(_, LongType, nullable = false)) ++
      spec.inputs(input).columns.zipWithIndex.map { case (column, i) => StructField(s"c$i", column.dataType) }
  )

  override def description(): String =
    s"joinless stored rows of ${relations.map(spec.relations(_).name).mkString(", ")} as of batch ${snapshot.batch}, " +
      s"checkpoint: ${snapshot.checkpoint}"

  override protected def parts: Int = spec.cells

  override def createReaderFactory(): PartitionReaderFactory = StoredRowsReaderFactory(
    spec.shaped(_.having(ResultSpec, None)),
    readSchema(),
    Roles.of(relations),
    copies,
    snapshot.stores,
    JoinlessConf.active.cacheMaxBytes
  )
}

private[spark] object StoredRowsTable {

  /** A plan that reads the rows, and its columns: the roles, the count, the stored columns. */
  def relation(snapshot: Snapshot, input: Int, relations: Seq[Int], copies: Boolean): DataSourceV2Relation =
    DataSourceV2Relation.create(
      StoredRowsTable(snapshot, input, relations, copies),
      None,
      None,
      CaseInsensitiveStringMap.empty
    )
}

final private[source] case class StoredRowsReaderFactory(
    spec: BlockSpec,
    schema: StructType,
    wanted: Long,
    copies: Boolean,
    stores: CommittedStores,
    cacheMaxBytes: Long
) extends CellReaderFactory {

  override protected def reader(cell: Int): PartitionReader[InternalRow] = new PartitionReader[InternalRow] {
    private[this] val stored = new StoredRows(spec, stores, cell, wanted, cacheMaxBytes)
    private[this] lazy val rows = stored.rows
    private[this] val head = new GenericInternalRow(2)
    private[this] val joined = new JoinedRow
    private[this] val project = UnsafeProjection.create(
      schema.fields.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, f.nullable) }.toSeq
    )
    private[this] var current: InternalRow = _
    private[this] var more = 0L // copies of the current row

    override def next(): Boolean = {
      if (more > 0L) more -= 1L
      else if (!rows.hasNext) current = null
      else {
        val row = rows.next()
        more = if (copies) row.count - 1L else 0L
        head.setLong(0, row.roles)
        head.setLong(1, if (copies) 1L else row.count)
        current = project(joined(head, row.columns))
      }
      current != null
    }

    override def get(): InternalRow = current

    override def close(): Unit = stored.close()
  }
}
