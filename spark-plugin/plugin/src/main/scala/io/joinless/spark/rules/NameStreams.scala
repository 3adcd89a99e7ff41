package io.joinless.spark.rules

import io.joinless.spark.JoinlessConf
import org.apache.spark.sql.catalyst.plans.logical.{Join, LeafNode, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** Marks each streaming source with the alias that the query gives it, while the plan still has its aliases.
  *
  * A micro-batch's plan loses them: Spark puts each source's columns under an alias, and drops both, qualifiers
  * included, before joins are rewritten. The mark is a tag: every plan comes back `eq`. Of nested aliases the outermost
  * below the next join counts: in `FROM (SELECT ... FROM e) x JOIN ...` that is `x`. A source object
  * that stands in the plan several times under different aliases is not marked.
  *
  * Runs as a plan-normalization rule, before [[HideIdleSources]].
  */
object NameStreams extends Rule[LogicalPlan] {

  private val tag = TreeNodeTag[String]("joinless.alias")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (plan.isStreaming && JoinlessConf.active.enabled) {
      names(plan, None).groupMap(found => Identity(found._1))(_._2).foreach {
        case (Identity(leaf), aliases) if aliases.distinct.size == 1 => leaf.setTagValue(tag, aliases.head)
        case (Identity(leaf), _) => leaf.unsetTagValue(tag)
      }
    }
    plan
  }

  private def names(plan: LogicalPlan, alias: Option[String]): Seq[(LogicalPlan, String)] = plan match {
    case leaf: LeafNode => if (leaf.isStreaming) alias.map(leaf -> _).toSeq else Nil
    case SubqueryAlias(identifier, child) => names(child, alias.orElse(Some(identifier.name)))
    case join: Join => join.children.flatMap(names(_, None))
    case other => other.children.flatMap(names(_, alias))
  }

  /** A node as an object: equal sources are different ones. */
  final private case class Identity(leaf: LogicalPlan) {
    override def equals(other: Any): Boolean = other match {
      case Identity(same) => same eq leaf
      case _ => false
    }
    override def hashCode: Int = System.identityHashCode(leaf)
  }

  /** What the query calls this leaf of a block; nothing where the leaf joins streams that have names of their own. */
  def of(leaf: LogicalPlan): Option[String] =
    if (leaf.exists { case join: Join => Conditions.joinsStreams(join); case _ => false }) None
    else leaf.collectLeaves().flatMap(_.getTagValue(tag)).headOption
}
