package io.joinless.spark.rules

import scala.util.Try

import io.joinless.spark.plans.CommittedTable
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** When a block's static tables are read.
  *
  * Spark joins a static table, and looks into one from a subquery, when a row arrives at that operator. A join tree of
  * streams has no such moment between its joins: its rows are stored, and results appear at the top. So a table that may
  * change keeps its place: what Spark has below the joins stays below, what it has above stays above, and what stands
  * between two joins ends the block there. A table that cannot change means the same at any time and may be read below.
  *
  * @param atArrival static tables are read when the row of the stream they are joined with arrives, whatever changes later
  */
final case class StaticSides(atArrival: Boolean) {

  /** The table may be read at another time than Spark reads it. */
  def isReadableAnyTime(table: LogicalPlan): Boolean = atArrival || StaticSides.cannotChange(table)

  /** The expression looks into tables that may change. */
  def readsChangingTable(expression: Expression): Boolean = !atArrival && expression.exists {
    case subquery: SubqueryExpression => !StaticSides.cannotChange(subquery.plan)
    case _ => false
  }
}

object StaticSides {

  /** Every action on the plan, at any time, gives the same rows. */
  def cannotChange(plan: LogicalPlan): Boolean = isDeterministic(plan) && (plan match {
    case _: LocalRelation | _: OneRowRelation | _: Range => true
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => isPinned(files.location)
    case table: DataSourceV2Relation => table.timeTravelSpec.isDefined || table.table.isInstanceOf[CommittedTable]
    case _: LeafNode => false
    case other => isRowByRow(other) && other.children.forall(cannotChange)
  })

  private def isDeterministic(plan: LogicalPlan): Boolean =
    plan.expressions.forall(e => e.deterministic && !e.exists(s => s.isInstanceOf[SubqueryExpression]))

  /** Its rows depend on its children's rows alone, not on their order or on chance. */
  private def isRowByRow(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: Union | _: Join | _: Aggregate | _: Distinct | _: SubqueryAlias | _: View => true
    case _: Expand | _: Generate | _: Intersect | _: Except | _: Sort => true
    case _ => false
  }

  /** Delta says so that the query names a version: before, and after its own rule has looked for the files. It is no class that we
    * compile against.
    */
  private def isPinned(files: AnyRef): Boolean = {
    def answer(method: String): Option[Any] = Try(files.getClass.getMethod(method).invoke(files)).toOption
    answer("isTimeTravelQuery").contains(true) || answer("versionScanned").exists {
      case Some(_) => true; case _ => false
    }
  }
}
