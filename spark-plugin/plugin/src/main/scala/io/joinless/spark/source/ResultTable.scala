package io.joinless.spark.source

import java.util

import scala.collection.mutable.ArrayBuffer

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.plans.nodes.CommittedTable
import io.joinless.spark.spec.{BlockSpec, ResultSpec}
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression}
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.{
  Batch,
  InputPartition,
  PartitionReaderFactory,
  Scan,
  ScanBuilder,
  SupportsPushDownRequiredColumns
}
import org.apache.spark.sql.joinless.CatalystPushDown
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The complete result of a join block in a snapshot, as a table.
  *
  * `spec` is the snapshot's, with the current residuals. `residuals(j)` is over
  * `spec.residuals(j).columns`, `values` and `filters` are over `spec.output`, all by position.
  * `conditions` are conditions on the rows of single relations. `names` are distinct, whatever
  * their case.
  */
final case class ResultTable(
    snapshot: Snapshot,
    spec: BlockSpec,
    residuals: Seq[Expression],
    names: IndexedSeq[String],
    values: IndexedSeq[Expression],
    filters: Seq[Expression],
    conditions: Seq[RelationFilter] = Nil
) extends SupportsRead with CommittedTable {

  override def name: String = s"joinless.`${snapshot.checkpoint}`"

  override def columns: Array[Column] =
    names.zip(values).map { case (name, value) => Column.create(name, value.dataType, true) }.toArray

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ResultScanBuilder(this)
}

/** Chooses what is read of a [[ResultTable]]: the needed columns, and conditions on single
  * relations, which are checked while the view tree is rebuilt, so that semi-join reduction makes
  * all other relations small as well.
  */
final private class ResultScanBuilder(table: ResultTable)
    extends ScanBuilder with SupportsPushDownRequiredColumns with CatalystPushDown {

  private var columns: Seq[Int] = table.names.indices
  private val taken = new ArrayBuffer[RelationFilter]

  /** Sets the columns that are read, by their names. */
  override def pruneColumns(required: StructType): Unit =
    columns = required.fieldNames.toSeq.map(name => table.names.indexOf(name))

  /** Whether the scan takes a condition. A scan reads rows that are part of no result, and a
    * condition that can fail would fail on one of them.
    */
  override protected def take(condition: Expression): Boolean = {
    val spec = table.spec
    val value = condition.transform { case a: Attribute => table.values(table.names.indexOf(a.name)) }
    val places = value.collect { case BoundReference(i, _, _) => spec.output(i) }
    places.map(_.relation).distinct match {
      case Seq(relation) if !CanThrow(value) =>
        val overStored = value.transform { case BoundReference(i, dataType, _) =>
          BoundReference(spec.output(i).ordinal, dataType, nullable = true)
        }
        taken += RelationFilter(relation, overStored, condition.sql)
        true
      case _ => false
    }
  }

  override def build(): Scan = ResultScan(table, columns, table.conditions ++ taken)
}

/** A full enumeration: one partition per cell. */
final case class ResultScan(table: ResultTable, columns: Seq[Int], taken: Seq[RelationFilter]) extends Scan with Batch {
  import table.{names, snapshot, spec, values}

  override def readSchema(): StructType =
    StructType(columns.map(c => StructField(names(c), values(c).dataType, nullable = true)))

  override def description(): String = {
    val conditions = taken.map(f => s"${spec.relations(f.relation).name}: ${f.sql}")
    s"joinless full enumeration of ${spec.relations.map(_.name).mkString(", ")} as of batch ${snapshot.batch}, " +
      s"${spec.cells} cells, columns: ${columns.map(names).mkString("[", ", ", "]")}, " +
      s"checked on rows of one relation: ${conditions.mkString("[", ", ", "]")}, checkpoint: ${snapshot.checkpoint}"
  }

  override def toBatch: Batch = this

  override def planInputPartitions(): Array[InputPartition] = Array.tabulate(spec.cells)(CellPartition(_))

  /** Results are enumerated with the columns of relations that the requested columns or filters
    * read, and these are computed over them by position.
    */
  override def createReaderFactory(): PartitionReaderFactory = {
    val wanted = columns.map(values)
    val needed = (wanted ++ table.filters).flatMap(_.collect { case BoundReference(i, _, _) => i }).distinct.sorted
    def rebound(e: Expression) = e.transform { case BoundReference(i, dataType, _) =>
      BoundReference(needed.indexOf(i), dataType, nullable = true)
    }
    ResultReaderFactory(
      spec.shaped(_.copy(output = needed.map(spec.output).toIndexedSeq).having(ResultSpec, None)),
      table.residuals,
      wanted.map(rebound),
      table.filters.map(rebound),
      taken,
      snapshot.stores,
      JoinlessConf.active.cacheMaxBytes
    )
  }
}
