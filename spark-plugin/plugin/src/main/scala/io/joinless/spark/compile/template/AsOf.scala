package io.joinless.spark.compile.template

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._

/** In a template: an as-of join. Each row of `left` is joined with the last row of `right` at or
  * before its time, among those with equal keys. Spark's optimizer prunes its columns, and knows
  * nothing else of it.
  *
  * @param leftKeys keys of the left side
  * @param rightKeys those of the right side, of the same types; where NULLs are not equal, rows
  *   with a NULL have been dropped
  * @param leftTime the time of a left row; NULL if the row has no match
  * @param rightTime the time of a right row, of the same type; not NULL
  * @param ties which of several right rows of one time is the match: the first one
  * @param forward the match is the first row of `right` at or after the time, instead
  * @param strict a row of the same time is no match
  * @param outer left rows without a match are returned
  */
final private[compile] case class AsOf(
    left: LogicalPlan,
    right: LogicalPlan,
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    leftTime: Expression,
    rightTime: Expression,
    ties: Seq[SortOrder],
    forward: Boolean,
    strict: Boolean,
    outer: Boolean
) extends BinaryNode {

  override def output: Seq[Attribute] = left.output ++ right.output.map(_.withNullability(true))

  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): AsOf =
    copy(left = newLeft, right = newRight)
}
