package io.joinless.spark.source

import java.util

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.plans.CommittedTable
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The rows that a block stores, one by one: what its relations are joined from.
  *
  *   - `relation STRING`: the role that a row plays; a row with several roles comes once for each;
  *   - `count BIGINT`: 1 for a row of an append-only input (equal rows come one by one), the multiplicity for one of a
  *     changelog, negative where deletes came before their inserts;
  *   - `row`: the stored columns, only those that the join needs: a STRUCT where one relation is asked for, else JSON.
  *
  * Rows with a NULL in a key that NULL never joins are not stored. A row that lies in several cells comes once.
  */
final case class InputsTable(snapshot: Snapshot, relation: Option[Int]) extends SupportsRead with CommittedTable
    with ScanBuilder
    with Scan
    with Batch {
  import snapshot.spec

  override def name: String = s"joinless.`${snapshot.checkpoint}`.inputs"

  override def columns: Array[Column] =
    readSchema().fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = this

  override def build(): Scan = this

  override def readSchema(): StructType = StructType(Seq(
    StructField("relation", StringType, nullable = false),
    StructField("count", LongType, nullable = false),
    StructField("row", relation.fold[DataType](StringType)(StoredRow.struct(spec, _)))
  ))

  override def description(): String =
    s"joinless stored rows of ${relations.map(spec.relations(_).name).mkString(", ")} as of batch ${snapshot.batch}, " +
      s"checkpoint: ${snapshot.checkpoint}"

  override def toBatch: Batch = this

  override def planInputPartitions(): Array[InputPartition] = Array.tabulate(spec.cells)(CellPartition(_))

  override def createReaderFactory(): PartitionReaderFactory =
    InputsReaderFactory(
      spec.shaped(_.copy(result = None)),
      relations,
      asStruct = relation.isDefined,
      SQLConf.get.sessionLocalTimeZone,
      snapshot.stores,
      JoinlessConf.active.cacheMaxBytes
    )

  private def relations: Seq[Int] = relation.fold[Seq[Int]](spec.relations.indices)(Seq(_))
}
