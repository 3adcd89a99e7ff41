package org.apache.spark.sql.joinless

import scala.collection.mutable

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.datasources.{DataSource, LogicalRelation}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, MemoryStreamTable, StreamingRelation}
import org.apache.spark.sql.sources.BaseRelation

/** The steps by which Spark's micro-batch execution plans a batch of a query, for tests that run
  * none.
  */
object BatchPlans {

  /** The folders that the streams of an analyzed plan read. */
  def folders(analyzed: LogicalPlan): Set[String] =
    analyzed.collect { case source: StreamingRelation => source.dataSource.options("path") }.toSet

  /** The analyzed plan of a batch: each stream is replaced by its new files, or by no rows.
    *
    * @param form the rows of a scan as the source gives them
    */
  def of(
      analyzed: LogicalPlan,
      files: Map[String, Seq[String]],
      form: LogicalPlan => LogicalPlan = identity
  ): LogicalPlan = {
    val listings = mutable.Map.empty[String, BaseRelation]
    val batches = mutable.Map.empty[StreamingRelation, LogicalPlan]
    analyzed.transform { case source: StreamingRelation =>
      val folder = source.dataSource.options("path")
      files.getOrElse(folder, Nil) match {
        case Seq() => LocalRelation(source.output, isStreaming = true)
        case arrived =>
          val relation = listings.getOrElseUpdate(folder, listed(source.dataSource, arrived))
          val columns = relation.schema.map(f => AttributeReference(f.name, f.dataType, f.nullable)())
          def scan = LogicalRelation(relation, columns, None, isStreaming = true, None)
          inPlace(source.output, batches.getOrElseUpdate(source, form(scan)))
      }
    }
  }

  /** A batch that replaces its source. Several scans of a source get the same plan each time. */
  private def inPlace(columns: Seq[Attribute], batch: LogicalPlan): LogicalPlan =
    Project(batch.output.zip(columns).map { case (c, a) => Alias(c, a.name)(a.exprId, a.qualifier) }, batch)

  /** Whether an analyzed plan reads one of some streams in memory. */
  def reads(analyzed: LogicalPlan, streams: Set[MemoryStream[_]]): Boolean = analyzed.exists {
    case InMemory(_, stream) => streams.exists(_ eq stream)
    case _ => false
  }

  /** The analyzed plan of a batch over streams in memory: each is replaced by its new rows, or by
    * no rows, in one partition.
    *
    * @param form the rows of a scan as the source gives them
    */
  def ofRows(
      session: SparkSession,
      analyzed: LogicalPlan,
      rows: Map[MemoryStream[_], Seq[Row]],
      form: LogicalPlan => LogicalPlan
  ): LogicalPlan = {
    val batches = mutable.Map.empty[StreamingRelationV2, LogicalPlan]
    analyzed.transform { case InMemory(source, stream) =>
      rows.collectFirst { case (of, arrived) if of eq stream => arrived }
        .fold[LogicalPlan](LocalRelation(source.output, isStreaming = true)) { arrived =>
          val columns = source.output.map(_.newInstance())
          val toCatalyst = CatalystTypeConverters.createToCatalystConverter(DataTypeUtils.fromAttributes(source.output))
          lazy val ofBatch = session.sparkContext.parallelize(arrived.map(toCatalyst(_).asInstanceOf[InternalRow]), 1)
          def scan = LogicalRDD(columns, ofBatch, isStreaming = true)(classicOf(session))
          inPlace(source.output, batches.getOrElseUpdate(source, form(scan)))
        }
    }
  }

  private object InMemory {
    def unapply(plan: LogicalPlan): Option[(StreamingRelationV2, AnyRef)] = plan match {
      case source: StreamingRelationV2 =>
        Option(source.table).collect { case table: MemoryStreamTable => source -> table.stream }
      case _ => None
    }
  }

  private def listed(source: DataSource, files: Seq[String]): BaseRelation =
    source.copy(paths = files, options = source.options - "path").resolveRelation(checkFilesExist = false)
}
