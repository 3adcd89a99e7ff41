package io.joinless.spark.changes

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

/** What errors call a stream: what the user called it, or where it is read from. */
object SourceNames {

  /** The outermost alias, or else the table, the topic or the path of each source. */
  def of(plan: LogicalPlan): String = plan.collectFirst { case alias: SubqueryAlias => alias.alias }.getOrElse {
    plan.collectLeaves().filter(_.isStreaming).map(ofSource).distinct.mkString(", ").take(200)
  }

  private def ofSource(leaf: LogicalPlan): String = leaf match {
    case v1: StreamingRelation =>
      v1.dataSource.catalogTable.map(_.identifier.unquotedString)
        .orElse(place(v1.dataSource.options)).getOrElse(s"the source ${v1.sourceName}")
    case v2: StreamingRelationV2 =>
      v2.identifier.map(id => (id.namespace :+ id.name).mkString("."))
        .orElse(place(v2.extraOptions.asCaseSensitiveMap))
        .orElse(v2.v1Relation.map(ofSource)).getOrElse(s"the source ${v2.sourceName}")
    case other => other.simpleString(3)
  }

  private def place(options: java.util.Map[String, String]): Option[String] = {
    import scala.jdk.CollectionConverters._
    place(options.asScala.toMap)
  }

  private def place(options: Map[String, String]): Option[String] = {
    val all = CaseInsensitiveMap(options)
    all.get("path")
      .orElse(all.get("subscribe").orElse(all.get("subscribePattern")).orElse(all.get("assign")).map(t => s"topic $t"))
  }
}
