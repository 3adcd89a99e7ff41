package io.joinless.spark.plans.marks

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Rows of which at most one has the same values in the columns of a key: `joinless.key` says so.
  *
  * The node is opaque to the optimizer, which prunes columns below it and pushes no condition
  * through it: rows that a condition drops are checked, too. Compiling a query whose changes are
  * requested replaces it by the check ([[io.joinless.spark.compile.DeclaredKeys]]); a plain
  * query that has one is refused.
  *
  * @param source the relation, as errors name it
  */
final case class KeyedRows(child: LogicalPlan, key: Seq[Attribute], source: String) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): KeyedRows = copy(child = newChild)
}

object KeyedRows {

  /** The plan without keys. */
  def removed(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries { case KeyedRows(child, _, _) => child }
}

/** `key` in SQL, whose rows are not resolved yet. */
final case class UnresolvedKey(child: LogicalPlan, key: Seq[String]) extends UnaryNode {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def withNewChildInternal(newChild: LogicalPlan): UnresolvedKey = copy(child = newChild)
}
