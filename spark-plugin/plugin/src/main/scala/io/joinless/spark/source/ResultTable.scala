package io.joinless.spark.source

import java.util

import io.joinless.spark.plans.nodes.CommittedTable
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A complete result as a table. */
final case class ResultTable(result: CompleteResult) extends SupportsRead with CommittedTable {

  override def name: String = result.name

  override def columns: Array[Column] =
    result.names.zip(result.values).map { case (name, value) => Column.create(name, value.dataType, true) }.toArray

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ResultScanBuilder(result)
}
