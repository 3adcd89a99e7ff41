package io.joinless.spark.rules.meaning

import io.joinless.spark.rules.blocks.Conditions
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, IsNotNull, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The conditions of a query on the rows that a block has stored.
  *
  * A full result is that of the current query, which may keep fewer rows than the query that stored
  * them.
  */
object StoredRows {

  /** The conditions of a scan that its stored columns decide, over these by position. Conditions on
    * other columns, on the current time, and random ones are left out: they were checked when the
    * rows were inserted.
    *
    * @param columns how many of the scan's columns are stored
    */
  def conditions(scan: LogicalPlan, columns: Int): Seq[Expression] =
    bound(scan, columns).map(_._2).filter(_.references.isEmpty)

  /** The conditions of a scan, as they are recorded, without random ones.
    *
    * @param keys positions of columns that are never NULL in a stored row: conditions that say so
    *   are left out
    */
  def filters(scan: LogicalPlan, keys: Set[Int] = Set.empty): IndexedSeq[String] = {
    val source = LeafSource(scan)
    val neverNull = keys.map(i => source.resolve(scan.output(i)))
    source.conditions.filter {
      case IsNotNull(e) => !neverNull.exists(_.semanticEquals(e))
      case condition => condition.deterministic
    }.map(recorded).distinct.sorted.toIndexedSeq
  }

  /** A condition with a digest of each table that its subqueries read: its text has none. */
  private def recorded(condition: Expression): String = {
    val subqueries = condition.collect { case s: SubqueryExpression =>
      s" of ${RowsDigest.origin(s.plan).rows.take(12)}"
    }
    ExpressionTexts.plain(condition) + subqueries.mkString
  }

  /** The lasting conditions among `filters` that the stored columns do not decide. */
  def undecided(scan: LogicalPlan, columns: Int): Seq[String] =
    bound(scan, columns).collect {
      case (asWritten, bound) if bound.references.nonEmpty => ExpressionTexts.plain(asWritten)
    }

  /** Each lasting condition, with its expression over the stored columns, as far as these have its
    * values.
    */
  private def bound(scan: LogicalPlan, columns: Int): Seq[(Expression, Expression)] = {
    val source = LeafSource(scan)
    val stored = scan.output.take(columns).map(source.resolve)
    source.conditions.filter(isLasting).map { condition =>
      condition -> condition.transformDown {
        case part if stored.exists(_.semanticEquals(part)) =>
          val i = stored.indexWhere(_.semanticEquals(part))
          BoundReference(i, stored(i).dataType, nullable = true)
      }
    }
  }

  /** Whether a condition on a stored row has the same value at any later time, and is not implied
    * by what is stored.
    */
  private def isLasting(condition: Expression): Boolean = condition.deterministic && !condition.exists {
    case _: SubqueryExpression => true
    case e => Conditions.isTime(e) || Conditions.isLate(e)
  } && !condition.isInstanceOf[IsNotNull]
}
