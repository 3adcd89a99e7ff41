package io.joinless.spark.compile.template

import io.joinless.spark.plans.marks.KeyedRows
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._

/** A unique key of a result, where the query itself implies one: the columns of a GROUP BY or a
  * DISTINCT, or those for each value of which only the newest row is returned.
  */
private[compile] object ResultKey {

  /** The key, as columns of the plan. None where the plan implies no key, or a projection drops a
    * part of it. An operator that only drops rows, or adds columns, keeps the key of its child.
    *
    * @param plan an optimized template
    */
  def apply(plan: LogicalPlan): Option[Seq[Attribute]] = plan match {
    case Project(list, child) => apply(child).flatMap(projected(list, _))
    case Filter(condition, child) => first(condition, child).orElse(apply(child))
    case rows: FirstRows => apply(rows.child)
    case join: AsOf => apply(join.left)
    case KeyedRows(_, key, _) => Some(key)
    case Window(_, _, _, child, _) => apply(child)
    case Aggregate(keys, results, _, _) => projected(results, keys)
    case other =>
      other.distinctKeys.map(_.toSeq).collect {
        case key if key.forall(_.isInstanceOf[Attribute]) => key.map(_.asInstanceOf[Attribute])
      }.filter(_.nonEmpty).minByOption(_.size)
  }

  /** The partition columns of a window, as columns of `child`; None unless the condition keeps one
    * row of each partition, and all of these are columns.
    */
  private def first(condition: Expression, child: LogicalPlan): Option[Seq[Attribute]] = child match {
    case window: Window if RowNumbers.atMost(condition, window).contains(1) =>
      projected(window.output, window.partitionSpec)
    case Project(list, window: Window) =>
      first(condition, window).flatMap(projected(list, _))
    case _ => None
  }

  /** The columns of a list that project the key, in the order of the key; None if it does not project
    * all of it, or the key has no columns.
    */
  private def projected(list: Seq[NamedExpression], key: Seq[Expression]): Option[Seq[Attribute]] = {
    val columns = key.map { k =>
      list.find {
        case Alias(value, _) => value.semanticEquals(k)
        case column => column.semanticEquals(k)
      }
    }
    Option.when(key.nonEmpty && columns.forall(_.isDefined))(columns.flatten.map(_.toAttribute))
  }
}
