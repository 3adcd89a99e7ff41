package io.joinless.spark.explain

import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.QueryPlan

/** A line of the view tree inside the operator's plan text: `query.explain()` prints inner children
  * below their node.
  *
  * It is never executed. The children of a node of the join tree are its views and then its child
  * nodes.
  */
final case class ViewTreePlan(text: String, children: Seq[ViewTreePlan]) extends QueryPlan[ViewTreePlan] {

  override def output: Seq[Attribute] = Nil
  override def nodeName: String = text
  override def simpleString(maxFields: Int): String = text
  override def verboseString(maxFields: Int): String = text
  override def simpleStringWithNodeId(): String = text
  override def verboseStringWithOperatorId(): String = text

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[ViewTreePlan]): ViewTreePlan =
    copy(children = newChildren)
}

object ViewTreePlan {

  /** The tree of a block under its root, for `innerChildren` of the operator. */
  def of(shape: BlockShape): ViewTreePlan = node(ViewTreeFacts(shape).root)

  /** The line of a node, above those of its views and child nodes. */
  private def node(facts: NodeFacts): ViewTreePlan = {
    val key = facts.key.filter(_.nonEmpty).fold("")(_.mkString(" on ", ", ", ""))
    ViewTreePlan(
      s"node ${facts.name}$key",
      facts.views.map(v => ViewTreePlan(v.toString, Nil)) ++ facts.children.map(node)
    )
  }
}
