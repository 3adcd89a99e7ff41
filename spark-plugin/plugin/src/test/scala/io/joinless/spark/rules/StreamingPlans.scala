package io.joinless.spark.rules

import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.reasons.Reason
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.joinless.BatchPlans
import org.apache.spark.sql.{DataFrame, classic}
import org.scalatest.Suite

/** Plans of streaming queries that never run: tables without data, and Spark's optimizer with the
  * extension.
  */
trait StreamingPlans extends SharedSpark { self: Suite =>

  /** Registers a streaming table of these columns, as in `stream("e", "src BIGINT, dst BIGINT")`.
    */
  def stream(name: String, schema: String): Unit = {
    val directory = TestFolders.create(name)
    spark.readStream.schema(schema).format("parquet").load(directory.toString).createOrReplaceTempView(name)
  }

  def optimized(sql: String): LogicalPlan = optimized(spark.sql(sql))

  def optimized(query: DataFrame): LogicalPlan = optimize(query.queryExecution.analyzed)

  /** Spark's steps on an analyzed plan for each micro-batch: normalize, optimize. */
  def optimize(analyzed: LogicalPlan): LogicalPlan = {
    val session = spark.asInstanceOf[classic.SparkSession]
    session.withActive {
      session.sessionState.optimizer.execute(QueryExecution.normalize(session, analyzed.clone()))
    }
  }

  /** The analyzed plan of a batch in which no source has data. */
  def idle(analyzed: LogicalPlan): LogicalPlan = BatchPlans.of(analyzed, Map.empty)

  /** The analyzed plan of a batch in which every source has data, of one listing for all scans that
    * read the same files.
    */
  def busy(analyzed: LogicalPlan): LogicalPlan =
    BatchPlans.of(analyzed, BatchPlans.folders(analyzed).map(folder => folder -> Seq(folder)).toMap)

  def blocks(plan: LogicalPlan): Seq[JoinFreeJoin] = plan.collect { case block: JoinFreeJoin => block }

  def block(sql: String): JoinFreeJoin = {
    val plan = optimized(sql)
    blocks(plan) match {
      case Seq(one) => one
      case other => throw new AssertionError(s"${other.size} blocks, reasons ${reasons(plan)}, in\n$plan")
    }
  }

  def reasons(plan: LogicalPlan): Seq[Reason] = plan.collect { case join: Join => Reason.at(join) }.flatten

  /** The codes of all reasons in the optimized plan, which holds no block of ours. */
  def codes(sql: String): Seq[String] = {
    val plan = optimized(sql)
    if (blocks(plan).nonEmpty) throw new AssertionError(s"rewritten:\n$plan")
    reasons(plan).map(_.code.name)
  }
}
