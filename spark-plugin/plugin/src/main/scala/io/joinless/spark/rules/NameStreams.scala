package io.joinless.spark.rules

import io.joinless.spark.JoinlessConf
import org.apache.spark.sql.catalyst.plans.logical.{Join, LeafNode, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** Marks each streaming source with the alias that the query gives it, while the plan still has its aliases.
  *
  * A micro-batch's plan loses them: Spark puts each source's columns under an alias, and drops both, qualifiers
  * included, before joins are rewritten. The mark is a tag: every plan comes back `eq`. Of nested aliases the outermost
  * below the next join counts: in `FROM (SELECT ... FROM e) x JOIN ...` that is `x`.
  *
  * Runs as a plan-normalization rule, before [[HideIdleSources]].
  */
object NameStreams extends Rule[LogicalPlan] {

  private val tag = TreeNodeTag[String]("joinless.alias")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (plan.isStreaming && JoinlessConf.active.enabled) name(plan, None)
    plan
  }

  private def name(plan: LogicalPlan, alias: Option[String]): Unit = plan match {
    case leaf: LeafNode => if (leaf.isStreaming) alias.foreach(leaf.setTagValue(tag, _))
    case SubqueryAlias(identifier, child) => name(child, alias.orElse(Some(identifier.name)))
    case join: Join => join.children.foreach(name(_, None))
    case other => other.children.foreach(name(_, alias))
  }

  /** What the query calls this leaf of a block; nothing where the leaf joins streams that have names of their own. */
  def of(leaf: LogicalPlan): Option[String] =
    if (leaf.exists { case join: Join => Conditions.joinsStreams(join); case _ => false }) None
    else leaf.collectLeaves().flatMap(_.getTagValue(tag)).headOption
}
