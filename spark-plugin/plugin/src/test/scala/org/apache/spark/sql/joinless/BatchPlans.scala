package org.apache.spark.sql.joinless

import java.util.UUID

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.{DataSource, LogicalRelation}
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamingRelation}
import org.apache.spark.sql.sources.BaseRelation

/** What Spark's micro-batch execution does to plan a batch of a query over file streams, for tests that run none. */
object BatchPlans {

  /** The folders that the streams of an analyzed plan read. */
  def folders(analyzed: LogicalPlan): Set[String] =
    analyzed.collect { case source: StreamingRelation => source.dataSource.options("path") }.toSet

  /** The analyzed plan of a batch: each stream is the files it got, or nothing. */
  def of(analyzed: LogicalPlan, files: Map[String, Seq[String]]): LogicalPlan = {
    val listings = scala.collection.mutable.Map.empty[String, BaseRelation]
    analyzed.transform { case source: StreamingRelation =>
      val folder = source.dataSource.options("path")
      files.getOrElse(folder, Nil) match {
        case Seq() => LocalRelation(source.output, isStreaming = true)
        case arrived =>
          val relation = listings.getOrElseUpdate(folder, listed(source.dataSource, arrived))
          val columns = relation.schema.map(f => AttributeReference(f.name, f.dataType, f.nullable)())
          val renamed = columns.zip(source.output).map { case (c, a) => Alias(c, a.name)(a.exprId, a.qualifier) }
          Project(renamed, LogicalRelation(relation, columns, None, isStreaming = true, None))
      }
    }
  }

  private def listed(source: DataSource, files: Seq[String]): BaseRelation =
    source.copy(paths = files, options = source.options - "path").resolveRelation(checkFilesExist = false)

  def execution(session: SparkSession, plan: LogicalPlan): QueryExecution =
    new QueryExecution(classicOf(session), plan)

  /** The stores of an operator that a run opens at a version. */
  def stateInfo(folder: String, run: UUID, operator: Long, version: Long, stores: Int): StateInfo =
    StatefulOperatorStateInfo(folder, run, operator, version, stores)

  /** Lets state stores be opened by a session whose query has this run id. */
  def beginRun(session: SparkSession, run: UUID): Unit = session.conf.set(StreamExecution.RUN_ID_KEY, run.toString)

  /** Lets the stores of a run go. */
  def endRun(session: SparkSession, run: UUID): Unit =
    classicOf(session).streams.stateStoreCoordinator.deactivateInstances(run)
}
