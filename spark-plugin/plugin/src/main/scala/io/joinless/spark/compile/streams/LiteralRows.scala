package io.joinless.spark.compile.streams

import io.joinless.spark.compile.template.DeltaScope
import io.joinless.spark.plans.nodes.StreamRef
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types.{ArrayType, BooleanType, StructField, StructType}

/** Literals in a UNION with streams, or joined to a changelog: rows that are present from the first
  * batch on, and are never deleted.
  * {{{
  * VALUES (1, 'a'), (2, 'b')
  * =  SELECT inline(array((1, 'a'), (2, 'b'))) FROM (SELECT COUNT(*) FROM nothing)
  * }}}
  * A GROUP BY without columns has a row even over no rows. It is inserted in the first batch,
  * stored, and never changes: so restarts, joins, groups and the complete result read the literals
  * as they read other groups. Literals that are joined to insert-only rows stay unchanged: each row
  * is joined with them when it is inserted.
  */
final private[compile] class LiteralRows(isChangelog: StreamRef => Boolean) {
  import LiteralRows._

  /** The plan in which groups replace such literals. */
  def replaced(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case union: Union if union.isStreaming => union.withNewChildren(union.children.map(replacedIn))
    case join: Join if join.exists(changes) => join.withNewChildren(join.children.map(replacedIn))
  }

  /** A side or part that is literals, as groups; others stay. */
  private def replacedIn(plan: LogicalPlan): LogicalPlan = if (isLiteral(plan)) emittedOnce(plan) else plan

  /** Nodes that `replaced` puts into the plan emit changes, too. */
  private def changes(plan: LogicalPlan): Boolean = plan match {
    case ref: StreamRef => isChangelog(ref)
    case aggregate: Aggregate => aggregate.isStreaming
    case _ => false
  }
}

private[streams] object LiteralRows {

  /** Whether all rows are literals, or made of literals by projections, conditions and unions that
    * changes may pass ([[DeltaScope.passes]]).
    */
  def isLiteral(plan: LogicalPlan): Boolean = plan match {
    case LocalRelation(_, _, isStreaming, _) => !isStreaming
    case _: OneRowRelation => true
    case _: Project | _: Filter | _: Union => plan.children.forall(isLiteral) && DeltaScope.passes(plan)
    case _ => false
  }

  /** The same rows, with a group over no rows in place of each leaf: it is inserted in the first
    * batch, and its only row generates the leaf's.
    */
  private def emittedOnce(plan: LogicalPlan): LogicalPlan = plan match {
    case LocalRelation(output, rows, _, _) =>
      val struct = StructType(output.map(a => StructField(a.name, a.dataType, a.nullable)))
      val all = Literal(new GenericArrayData(rows.toArray[Any]), ArrayType(struct, containsNull = false))
      Generate(Inline(all), unrequiredChildIndex = Seq(0), outer = false, qualifier = None, output, oneRow)
    case _: OneRowRelation => Project(Nil, oneRow)
    case other => other.withNewChildren(other.children.map(emittedOnce))
  }

  /** `SELECT COUNT(*) FROM nothing`; its column is not read. */
  private def oneRow: Aggregate = {
    val none = LocalRelation(Seq(AttributeReference("nothing", BooleanType)()), Nil, isStreaming = true)
    val one = Aggregate(Nil, Seq(Alias(Count(Literal(1)).toAggregateExpression(), "rows")()), none)
    one.setTagValue(GroupCompiler.purpose, Purpose)
    one
  }

  val Purpose: GroupCompiler.Purpose =
    GroupCompiler.Purpose("literals, emitted in the first batch", "literals", isOfMatches = false)
}
