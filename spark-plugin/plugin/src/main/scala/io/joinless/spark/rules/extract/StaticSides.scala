package io.joinless.spark.rules.extract

import scala.util.Try

import io.joinless.spark.plans.nodes.CommittedTable
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** When a block's static tables are read.
  *
  * Spark joins a static table, or reads one in a subquery, when a row arrives at that operator. A
  * join tree of streams has no such moment between its joins: its rows are stored, and results are
  * emitted at the top. So a table that may change keeps its position: tables that Spark reads below
  * the joins stay below, tables above stay above, and a table between two joins ends the block
  * there. A table that cannot change has the same rows at any time and may be read below.
  *
  * @param atArrival static tables are read when the row of the stream they are joined with arrives,
  *   even if they change later
  */
final case class StaticSides(atArrival: Boolean) {

  /** Whether the table may be read at another time than in Spark. */
  def isReadableAnyTime(table: LogicalPlan): Boolean = atArrival || StaticSides.cannotChange(table)

  /** Whether the expression reads tables that may change. */
  def readsChangingTable(expression: Expression): Boolean = !atArrival && expression.exists {
    case subquery: SubqueryExpression => !StaticSides.cannotChange(subquery.plan)
    case _ => false
  }
}

object StaticSides {

  /** Whether every action on the plan, at any time, returns the same rows. */
  def cannotChange(plan: LogicalPlan): Boolean = isDeterministic(plan) && (plan match {
    case _: LocalRelation | _: OneRowRelation | _: Range => true
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => isPinned(files.location)
    case table: DataSourceV2Relation => table.timeTravelSpec.isDefined || CommittedTable.isReadBy(table)
    case _: LeafNode => false
    case other => isRowByRow(other) && other.children.forall(cannotChange)
  })

  /** Whether a node's expressions have the same values at each evaluation, and read no tables. */
  private def isDeterministic(plan: LogicalPlan): Boolean =
    plan.expressions.forall(e => e.deterministic && !e.exists(s => s.isInstanceOf[SubqueryExpression]))

  /** Whether its rows depend on its children's rows only, not on their order or on chance. */
  private def isRowByRow(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: Union | _: Join | _: Aggregate | _: Distinct | _: SubqueryAlias | _: View => true
    case _: Expand | _: Generate | _: Intersect | _: Except | _: Sort => true
    case _ => false
  }

  /** Whether the query names a version of a Delta table. Delta reports this both before and after
    * its own rule has listed the files. It is called by reflection, as we do not compile against
    * the class.
    */
  private def isPinned(files: AnyRef): Boolean = {

    /** What a method without parameters returns; None if there is none. */
    def answer(method: String): Option[Any] = Try(files.getClass.getMethod(method).invoke(files)).toOption
    answer("isTimeTravelQuery").contains(true) || answer("versionScanned").exists {
      case Some(_) => true; case _ => false
    }
  }
}
