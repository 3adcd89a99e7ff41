package io.joinless.spark.rules

import io.joinless.spark.JoinlessConf
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** Marks each streaming leaf with the alias that the query gives it, while the plan still has its aliases.
  *
  * A micro-batch's plan loses them: Spark puts each source's columns under an alias, and drops both, qualifiers
  * included, before joins are rewritten. The mark is a tag: every plan comes back `eq`. Of nested aliases the outermost
  * below the join counts.
  *
  * Runs as a plan-normalization rule, before [[HideIdleSources]].
  */
object NameStreams extends Rule[LogicalPlan] {

  private val tag = TreeNodeTag[String]("joinless.alias")

  /** The aliases of the streams below this plan. */
  def of(plan: LogicalPlan): Seq[String] = plan.collectLeaves().flatMap(_.getTagValue(tag))

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (plan.isStreaming && JoinlessConf.active.enabled) name(plan, None)
    plan
  }

  private def name(plan: LogicalPlan, alias: Option[String]): Unit = plan match {
    case leaf: LeafNode => if (leaf.isStreaming) alias.foreach(leaf.setTagValue(tag, _))
    case SubqueryAlias(identifier, child) => name(child, alias.orElse(Some(identifier.name)))
    case _ if plan.children.size == 1 => name(plan.children.head, alias)
    case _ => plan.children.foreach(name(_, None))
  }
}
