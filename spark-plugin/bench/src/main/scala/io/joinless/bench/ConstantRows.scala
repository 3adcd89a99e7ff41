package io.joinless.bench

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A source whose partitions produce the same row repeatedly: an upper bound of the rows per second
  * that a plan can process.
  *
  * Options: `rows` in all, `columns` (BIGINT each), `partitions`.
  */
final class ConstantRows extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    (1 to options.getInt("columns", 4)).foldLeft(new StructType)((s, i) => s.add(s"x$i", LongType, nullable = false))

  override def getTable(rowSchema: StructType, parts: Array[Transform], properties: util.Map[String, String]): Table =
    new Table with SupportsRead {
      override def name(): String = "constant"
      override def schema(): StructType = rowSchema
      override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)
      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = { () =>
        new ConstantScan(rowSchema, options.getLong("rows", 1000000L), options.getInt("partitions", 2))
      }
    }
}

private class ConstantScan(schema: StructType, rows: Long, partitions: Int) extends Scan with Batch {
  override def readSchema(): StructType = schema
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] =
    Array.tabulate(partitions)(i => ConstantPart(rows * (i + 1) / partitions - rows * i / partitions))
  override def createReaderFactory(): PartitionReaderFactory = ConstantFactory(schema)
}

private case class ConstantPart(rows: Long) extends InputPartition

private case class ConstantFactory(schema: StructType) extends PartitionReaderFactory {
  override def createReader(part: InputPartition): PartitionReader[InternalRow] = part match {
    case ConstantPart(rows) => new PartitionReader[InternalRow] {
        private[this] var left = rows
        private[this] val row =
          UnsafeProjection.create(schema)(InternalRow.fromSeq(schema.indices.map(i => 1000L + i))).copy()
        override def next(): Boolean = { left -= 1; left >= 0 }
        override def get(): InternalRow = row
        override def close(): Unit = ()
      }
    case other => throw new IllegalArgumentException(other.toString)
  }
}
