package org.apache.spark.sql.joinless

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

/** A scan of a stream in a query, as the query has it before its sources are opened.
  *
  * `StreamingRelation` is internal to Spark.
  *
  * @param sourceName as in `format("...")`
  * @param table its name, if it is one of a catalog
  * @param options the user's options
  * @param readsFiles its format lists files of a folder
  * @param definition equal for scans that are defined equally, whatever their attributes
  * @param older the same scan for a source that can be read in two ways
  */
final case class StreamLeaf(
    sourceName: String,
    table: Option[String],
    options: Map[String, String],
    readsFiles: Boolean,
    definition: LogicalPlan,
    older: Option[StreamLeaf]
) {

  /** Its table, its path, or `topic` and the topics or their pattern, as a text; the first of them
    * that it has. None if it has none of them, as a stream in memory. Checkpoints record the text,
    * so it must not change.
    */
  def place: Option[String] = {
    val set = CaseInsensitiveMap(options)
    table.orElse(set.get("path"))
      .orElse(Seq("subscribe", "subscribePattern", "assign").flatMap(set.get).headOption.map(topic => s"topic $topic"))
      .orElse(older.flatMap(_.place))
  }
}

object StreamLeaf {

  /** The scan, if the plan is one, of either kind of sources. */
  def unapply(plan: LogicalPlan): Option[StreamLeaf] = plan match {
    case v1: StreamingRelation =>
      Some(
        StreamLeaf(
          v1.sourceName,
          v1.dataSource.catalogTable.map(_.identifier.unquotedString),
          v1.dataSource.options,
          classOf[FileFormat].isAssignableFrom(v1.dataSource.providingClass),
          v1.copy(output = Nil),
          None
        )
      )
    case v2: StreamingRelationV2 =>
      Some(
        StreamLeaf(
          v2.sourceName,
          v2.identifier.map(id => (id.namespace :+ id.name).mkString(".")),
          v2.extraOptions.asCaseSensitiveMap.asScala.toMap,
          readsFiles = false,
          v2.copy(output = Nil, v1Relation = None),
          v2.v1Relation.flatMap(unapply)
        )
      )
    case _ => None
  }

  /** The names or the paths of the tables that a streaming query reads. */
  def places(query: LogicalPlan): Seq[String] =
    query.collectWithSubqueries { case StreamLeaf(leaf) => leaf.place }.flatten.distinct

  /** Whether the plan is a scan of a stream. */
  def is(plan: LogicalPlan): Boolean = plan.isInstanceOf[StreamingRelation] || plan.isInstanceOf[StreamingRelationV2]
}
