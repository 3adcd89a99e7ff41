package org.apache.spark.sql.joinless

import scala.util.Random

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Generate, LogicalPlan, Project, Union}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** The forms in which a source may give Spark the rows of a batch. Files and Kafka give a scan;
  * Delta Lake gives unions of scans, in which change types are constants, and a scan may not be
  * marked as streaming; others compute their rows. The rows are the same in each form.
  *
  * @param choice the form of the next batch of a source, below `BatchForms.Count`
  */
final class BatchForms(val session: SparkSession, choice: () => Int) {
  import BatchForms._

  /** The next batch of a source, from a scan of its rows. */
  def next(scan: LogicalPlan): LogicalPlan = choice() match {
    case 0 => scan
    case 1 => Union(Seq(empty(scan), still(scan)))
    case 2 => byType(scan).getOrElse(Union(Seq(empty(scan), renamed(scan))))
    case 3 => exploded(scan)
    case _ => renamed(renamed(scan))
  }

  /** The scan, not marked as streaming. */
  private def still(scan: LogicalPlan): LogicalPlan = scan match {
    case files: LogicalRelation => files.copy(isStreaming = false)
    case rows: LogicalRDD => LogicalRDD(rows.output, rows.rdd)(classicOf(session))
    case other => other
  }

  /** As Delta gives the first batch of a table: a plan of its own before the scan. */
  private def empty(scan: LogicalPlan): LogicalPlan = {
    val classic = classicOf(session)
    LogicalRDD(scan.output.map(_.newInstance()), classic.sparkContext.emptyRDD, isStreaming = true)(classic)
  }
}

object BatchForms {
  private val Count = 5
  private val ChangeType = "_change_type"
  private val Types = Seq("delete", "update_preimage", "insert", "update_postimage")

  /** Scans only. */
  def scans(session: SparkSession): BatchForms = new BatchForms(session, () => 0)

  /** Random forms. */
  def random(session: SparkSession, seed: Long): BatchForms = {
    val rng = new Random(seed)
    new BatchForms(session, () => rng.nextInt(Count))
  }

  /** As Delta gives changes: for each type its files, with the type as a constant. */
  private def byType(scan: LogicalPlan): Option[LogicalPlan] =
    Option.when(scan.output.exists(isChangeType))(Union(Types.map { name =>
      val rows = instance(scan)
      val constant = Literal(UTF8String.fromString(name), StringType)
      val columns = rows.output.map(a => if (isChangeType(a)) Alias(constant, a.name)() else Alias(a, a.name)())
      Project(columns, Filter(EqualTo(rows.output.find(isChangeType).get, constant), rows))
    }))

  private def isChangeType(a: Attribute): Boolean = a.name == ChangeType

  private def instance(scan: LogicalPlan): LogicalPlan = scan match {
    case files: LogicalRelation => files.newInstance()
    case rows: LogicalRDD => rows.newInstance()
    case other => other
  }

  /** Each row out of an array. */
  private def exploded(scan: LogicalPlan): LogicalPlan = {
    val row = CreateNamedStruct(scan.output.flatMap(a => Seq(Literal(a.name), a)))
    val made = AttributeReference("row", row.dataType, nullable = false)()
    val all = Generate(Explode(CreateArray(Seq(row))), scan.output.indices, outer = false, None, Seq(made), scan)
    Project(scan.output.zipWithIndex.map { case (a, i) => Alias(GetStructField(made, i), a.name)() }, all)
  }

  /** Other columns of the same names. */
  private def renamed(plan: LogicalPlan): LogicalPlan = Project(plan.output.map(a => Alias(a, a.name)()), plan)
}
