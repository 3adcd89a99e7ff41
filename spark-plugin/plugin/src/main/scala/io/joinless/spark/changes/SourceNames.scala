package io.joinless.spark.changes

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.joinless.StreamLeaf

/** What errors call a stream: what the user called it, or where it is read from. */
object SourceNames {

  /** The outermost alias, or else the table, the topic or the path of each source. */
  def of(plan: LogicalPlan): String = plan.collectFirst { case alias: SubqueryAlias => alias.alias }.getOrElse {
    plan.collectLeaves().filter(_.isStreaming).map(ofSource).distinct.mkString(", ").take(200)
  }

  private def ofSource(leaf: LogicalPlan): String = leaf match {
    case StreamLeaf(stream) => named(stream).getOrElse(s"the source ${stream.sourceName}")
    case other => other.simpleString(3)
  }

  private def named(stream: StreamLeaf): Option[String] =
    stream.table.orElse(place(CaseInsensitiveMap(stream.options))).orElse(stream.older.flatMap(named))

  private def place(options: Map[String, String]): Option[String] =
    options.get("path").orElse(Seq("subscribe", "subscribePattern", "assign").flatMap(options.get).headOption.map(t =>
      s"topic $t"
    ))
}
