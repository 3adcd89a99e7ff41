package io.joinless.spark.compile

import io.joinless.spark.plans.values.InPlaceOf
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical._

/** Rows of groups that have them in an array, as rows again. */
private[compile] object ExplodedGroups {

  /** The rows in an array of groups: the groups' keys, and the columns of `rows`.
    *
    * @param array over the columns of `groups`: rows as structs, with the columns `rows`
    * @param keys some of `rows`, each with the key of its group that has the same values: the
    *   column is read from there
    */
  def apply(
      groups: Aggregate,
      array: Expression,
      rows: Seq[Attribute],
      keys: Seq[(Attribute, Attribute)] = Nil
  ): LogicalPlan = {

    /** The key that has the values of a column, if the column is one of `keys`. */
    def keyOf(a: Attribute) = keys.collectFirst { case (column, key) if column.exprId == a.exprId => key }
    val made = rows.map(a => if (keyOf(a).isDefined) a.newInstance() else a)
    val all = Generate(
      Inline(array),
      unrequiredChildIndex = Seq(groups.output.size - 1),
      outer = false,
      qualifier = None,
      generatorOutput = made.map(_.withNullability(true)),
      groups
    )
    if (keys.isEmpty) all
    else Project(groups.output.init ++ rows.map(a => keyOf(a).fold(a: NamedExpression)(InPlaceOf(a, _))), all)
  }
}
