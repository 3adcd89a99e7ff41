package io.joinless.spark.source

import java.util

import io.joinless.spark.plans.nodes.CommittedTable
import io.joinless.spark.plans.values.InPlaceOf
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.NamedExpression
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The content of a checkpoint's stores, as a table that is read whole: one Spark partition per
  * store.
  */
private[source] trait WholeTable extends SupportsRead with CommittedTable with ScanBuilder with Scan with Batch {

  /** The number of stores. */
  protected def parts: Int

  override def columns: Array[Column] = readSchema().fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = this

  override def build(): Scan = this

  override def toBatch: Batch = this

  override def planInputPartitions(): Array[InputPartition] = Array.tabulate(parts)(CellPartition(_))
}

/** Reads stores one by one. */
private[source] trait CellReaderFactory extends PartitionReaderFactory {

  /** A reader of one store. */
  protected def reader(cell: Int): PartitionReader[InternalRow]

  final override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case CellPartition(cell, _) => reader(cell)
    case other => throw new IllegalArgumentException(s"no cell: $other")
  }
}

private[source] object WholeTable {

  /** The columns under names that are all different. */
  def schema(columns: Seq[NamedExpression]): StructType =
    StructType(DistinctNames(columns.map(_.name).toIndexedSeq).zip(columns).map { case (name, column) =>
      StructField(name, column.dataType, column.nullable)
    })

  /** A table under the attributes of `columns`, position by position. */
  def relation(table: Table, columns: Seq[NamedExpression]): LogicalPlan = {
    val relation = DataSourceV2Relation.create(table, None, None, CaseInsensitiveStringMap.empty)
    Project(columns.zip(relation.output).map { case (wanted, column) => InPlaceOf(wanted, column) }, relation)
  }
}
