package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, IsNotNull, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** What a query asks of the rows that a block has stored.
  *
  * A full result is that of the query at hand, which may keep fewer rows than the query that stored them.
  */
object StoredRows {

  /** The conditions of a scan that its stored columns decide, over these by position. Left out are conditions on other columns,
    * those of a moment and those of chance: they were checked when the rows came.
    *
    * @param columns how many of the scan's columns are stored
    */
  def conditions(scan: LogicalPlan, columns: Int): Seq[Expression] = {
    val source = LeafSource(scan)
    val stored = scan.output.take(columns).map(source.resolve)
    def bound(e: Expression): Expression = e.transformDown {
      case part if stored.exists(_.semanticEquals(part)) =>
        val i = stored.indexWhere(_.semanticEquals(part))
        BoundReference(i, stored(i).dataType, nullable = true)
    }
    source.conditions.filter(isLasting).map(bound).filter(_.references.isEmpty)
  }

  private def isLasting(condition: Expression): Boolean = condition.deterministic && !condition.exists {
    case _: SubqueryExpression => true
    case e => Conditions.isTime(e) || Conditions.isLate(e)
  } && !condition.isInstanceOf[IsNotNull]
}
