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
  def conditions(scan: LogicalPlan, columns: Int): Seq[Expression] =
    bound(scan, columns).map(_._2).filter(_.references.isEmpty)

  /** The conditions of a scan, as they are recorded; but those of chance.
    *
    * @param keys positions of columns that are never NULL in a row that is stored: that they are not is left out
    */
  def filters(scan: LogicalPlan, keys: Set[Int] = Set.empty): IndexedSeq[String] = {
    val source = LeafSource(scan)
    val never = keys.map(i => source.resolve(scan.output(i)))
    source.conditions.filter {
      case IsNotNull(e) => !never.exists(_.semanticEquals(e))
      case condition => condition.deterministic
    }.map(recorded).distinct.sorted.toIndexedSeq
  }

  /** A condition with a digest of each table that it asks: its text shows none. */
  private def recorded(condition: Expression): String = {
    val asked = condition.collect { case s: SubqueryExpression => s" of ${RowsDigest.origin(s.plan).rows.take(12)}" }
    MeaningTexts.plain(condition) + asked.mkString
  }

  /** Those of `filters` that are lasting, and not decided by the stored columns. */
  def undecided(scan: LogicalPlan, columns: Int): Seq[String] =
    bound(scan, columns).collect {
      case (asWritten, bound) if bound.references.nonEmpty => MeaningTexts.plain(asWritten)
    }

  /** Each lasting condition, and what it is over the stored columns, as far as these have it. */
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

  private def isLasting(condition: Expression): Boolean = condition.deterministic && !condition.exists {
    case _: SubqueryExpression => true
    case e => Conditions.isTime(e) || Conditions.isLate(e)
  } && !condition.isInstanceOf[IsNotNull]
}
