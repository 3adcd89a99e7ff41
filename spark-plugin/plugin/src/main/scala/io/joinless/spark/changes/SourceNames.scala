package io.joinless.spark.changes

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.StreamLeaf

/** The name of a stream in errors: the user's alias, or the location that is read. */
object SourceNames {

  /** The outermost alias, or else the table, the topic or the path of each source. */
  def of(plan: LogicalPlan): String = plan.collectFirst { case Aliases(Some(name), _) => name }.getOrElse {
    plan.collectLeaves().filter(_.isStreaming).map(ofSource).distinct.mkString(", ").take(200)
  }

  /** The location that a source reads, or else the source's name. */
  private def ofSource(leaf: LogicalPlan): String = leaf match {
    case StreamLeaf(stream) => stream.place.getOrElse(s"the source ${stream.sourceName}")
    case other => other.simpleString(3)
  }
}
