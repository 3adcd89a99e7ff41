package io.joinless.spark.source

import io.joinless.spark.explain.AccessText
import io.joinless.spark.plans.nodes.{DeltaRows, JoinFreeJoin}
import io.joinless.spark.spec.{BlockSpec, ColumnRef}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}

/** What look-ups of a query's result by some of its columns will cost, before the query runs
  * ([[AccessText]]).
  *
  * A column is looked up if it is one of the stored columns of a join. Values of other columns are
  * compared in Spark, row by row.
  *
  * @param plan the optimized plan of the first batch
  * @param blocks of the plan, with their cells
  */
final class LookupCost(plan: LogicalPlan, blocks: Seq[BlockSpec]) {

  /** The cost, in words, of a value for each of the columns. */
  def apply(names: Seq[String]): String = {
    val (found, others) = names.map(name => name -> origin(plan, Lookups.column(plan, name))).partition(_._2.isDefined)
    val columns = found.flatMap(_._2)
    columns.map(_._1).distinct match {
      case Seq(spec) =>
        val text = AccessText(spec, columns.map(_._2), spec.residuals.nonEmpty || others.nonEmpty)
        if (others.isEmpty) text else s"$text; compared with each row: ${others.map(_._1).mkString(", ")}"
      case _ =>
        s"by all rows of the result, since ${names.mkString(", ")} ${if (names.size == 1) "is no column"
          else "are no columns"} of one join"
    }
  }

  /** The stored column that an output column of a plan shows, of a type that is looked up. */
  private def origin(plan: LogicalPlan, column: Attribute): Option[(BlockSpec, ColumnRef)] = plan match {
    case join: JoinFreeJoin =>
      for {
        spec <- blocks.find(_.id == join.shape.id)
        stored <- spec.output.lift(join.output.indexWhere(_.exprId == column.exprId))
        dataType = RecordedResult.typeOf(spec, stored)
        if spec.shape.reduction.isEmpty && EqualValues.isComparedByBytes(dataType)
      } yield spec -> stored
    case DeltaRows(child, _, _, output, _) =>
      child.output.lift(output.indexWhere(_.exprId == column.exprId)).flatMap(origin(child, _))
    case Project(list, child) => list.find(_.exprId == column.exprId).flatMap {
        case Alias(shown: Attribute, _) => origin(child, shown)
        case shown: Attribute => origin(child, shown)
        case _ => None
      }
    case Filter(_, child) => origin(child, column)
    case _ => None
  }
}
