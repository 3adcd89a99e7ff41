package io.joinless.spark.rules.blocks

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, Filter, Join, LogicalPlan, Project}

/** Predicates on expressions and nodes that the rules share. */
private[spark] object Conditions extends PredicateHelper {

  /** The conjuncts of a condition. */
  def conjuncts(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)

  def and(left: Expression, right: Expression): Expression = And(left, right)

  /** Whether only one of Spark's own plan nodes can evaluate it. */
  def isLate(expression: Expression): Boolean =
    expression.exists(e => e.isInstanceOf[PythonUDF] || e.isInstanceOf[SubqueryExpression])

  /** Whether the expression is a different moment in every batch. */
  def isTime(e: Expression): Boolean = e match {
    case _: CurrentTimestampLike | _: CurrentDate | _: LocalTimestamp | _: CurrentTime => true
    case _ => false
  }

  /** Whether rows are late by this column. */
  def isEventTime(a: Attribute): Boolean = a.metadata.contains(EventTimeWatermark.delayKey)

  /** A node inside a block: it changes names or values of rows, or drops rows, one by one. */
  object Transparent {
    def unapply(plan: LogicalPlan): Option[LogicalPlan] = plan match {
      case Project(list, child) if list.forall(_.deterministic) => Some(child)
      case Filter(condition, child) if condition.deterministic => Some(child)
      case _ => None
    }
  }

  /** An inner join that belongs to a block: at least one side streams. */
  object InnerJoin {
    def unapply(join: Join): Option[(LogicalPlan, LogicalPlan, Seq[Expression])] = join.joinType match {
      case _: InnerLike if join.isStreaming => Some((join.left, join.right, join.condition.toSeq.flatMap(conjuncts)))
      case _ => None
    }
  }

  /** Whether both sides of a join stream. */
  def joinsStreams(join: Join): Boolean = join.left.isStreaming && join.right.isStreaming
}
