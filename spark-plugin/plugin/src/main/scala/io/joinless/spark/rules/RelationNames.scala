package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** The aliases of the query, noted on its streaming sources as long as the plan has them.
  *
  * A source goes by its outermost alias below the next join: in `FROM (SELECT ... FROM e) x JOIN ...` that is `x`.
  */
private[rules] object RelationNames {

  private val tag: TreeNodeTag[String] = TreeNodeTag[String]("joinless.relation")

  def note(plan: LogicalPlan): Unit = note(plan, None)

  private def note(plan: LogicalPlan, alias: Option[String]): Unit = plan match {
    case SubqueryAlias(name, child) => note(child, alias.orElse(Some(name.name)))
    case join: Join => join.children.foreach(note(_, None))
    case source if source.children.isEmpty =>
      if (source.isStreaming) alias.foreach(source.setTagValue(tag, _))
    case other => other.children.foreach(note(_, alias))
  }

  /** What the query calls this leaf of a block. */
  def of(leaf: LogicalPlan): Option[String] =
    if (leaf.exists { case join: Join => Conditions.joinsStreams(join); case _ => false }) None
    else leaf.collectLeaves().flatMap(_.getTagValue(tag)).headOption
}
