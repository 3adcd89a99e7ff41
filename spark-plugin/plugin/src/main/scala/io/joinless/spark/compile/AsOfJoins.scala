package io.joinless.spark.compile

import io.joinless.spark.compile.streams.GroupCompiler
import io.joinless.spark.compile.template.{AsOf, DeltaScope}
import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.plans.values.{AsOfRows, RowOrder}
import io.joinless.spark.rules.blocks.{Conditions, Names}
import io.joinless.spark.spec.RecordedQuery
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical._

/** As-of joins ([[AsOf]]) as groups: the rows of both sides in one relation, grouped by their keys.
  * A group stores its rows by their times ([[AsOfRows]]), and emits the results that change.
  * {{{
  * SELECT inline(rows) FROM
  *   (SELECT key, as_of_rows(...) AS rows FROM (left rows UNION ALL right rows) GROUP BY key)
  * }}}
  */
private[compile] object AsOfJoins {

  /** Whether as-of joins of a query are found: not where its checkpoint was begun without. */
  def areFound(recorded: Option[RecordedQuery]): Boolean =
    recorded.forall(query => query.groups.exists(_.isAsOf) || query.groups.isEmpty && query.blocks.isEmpty)

  /** The join with conditions on its left side alone below it; the other conditions. */
  def pushed(condition: Expression, join: AsOf): (Option[Expression], AsOf) = {
    val (below, above) = Conditions.conjuncts(condition).partition { c =>
      c.references.nonEmpty && c.references.subsetOf(join.left.outputSet) && DeltaScope.changing(Seq(c)).isEmpty &&
      !CanThrow(c)
    }
    (
      above.reduceOption(And(_, _)),
      join.copy(left = below.reduceOption(And(_, _)).fold(join.left)(Filter(_, join.left)))
    )
  }

  /** The join as groups.
    *
    * @param needed the columns of the join that are read above; others may be left out
    */
  def grouped(join: AsOf, needed: AttributeSet): LogicalPlan = {
    val AsOf(left, right, leftKeys, rightKeys, leftTime, rightTime, ties, forward, strict, outer) = join
    val used = needed.intersect(join.outputSet) ++ AttributeSet(ties)
    val read = if (used.isEmpty) AttributeSet(left.output.take(1)) else used // a row needs a column
    val (ofLeft, ofRight) = (left.output.filter(read.contains), right.output.filter(read.contains))

    def nulls(columns: Seq[Attribute]) = columns.map(a => Alias(Literal(null, a.dataType), a.name)())
    def named(values: Seq[Expression], name: String) = values.zipWithIndex.map { case (e, i) => Alias(e, s"$name$i")() }
    def side(keys: Seq[Expression], columns: Seq[NamedExpression], isRight: Literal, time: Expression) =
      Project(named(keys, "key") ++ columns :+ Alias(isRight, "isRight")() :+ Alias(time, "time")(), _: LogicalPlan)
    val both = Union(
      side(leftKeys, ofLeft ++ nulls(ofRight), Literal.FalseLiteral, leftTime)(left),
      side(rightKeys, nulls(ofLeft) ++ ofRight, Literal.TrueLiteral, rightTime)(right)
    )
    val (ofKeys, values) = both.output.splitAt(leftKeys.size)
    val order = ties.map { tie =>
      tie.transform { case a: Attribute => values(ofLeft.size + ofRight.indexWhere(_.exprId == a.exprId)) }
        .asInstanceOf[SortOrder]
    }
    val (struct, byFields) = RowOrder.struct(values, order)
    val rows = AsOfRows(struct, byFields, ofLeft.size, forward, strict, outer)
    val aggregate = Aggregate(ofKeys, ofKeys :+ Alias(rows.toAggregateExpression(), "rows")(), both)
    aggregate.setTagValue(GroupCompiler.purpose, purpose(join))
    val output = join.output.filter(read.contains)
    Project(output, ExplodedGroups(aggregate, aggregate.output.last, output))
  }

  private def purpose(join: AsOf): GroupCompiler.Purpose = {
    val by = if (join.leftKeys.isEmpty) "" else s" by ${join.leftKeys.map(Names.of(_)).mkString(", ")}"
    val which = (if (join.forward) "first" else "last") + " row of the other side " +
      (if (join.strict) "" else "at or ") + (if (join.forward) "after" else "before")
    GroupCompiler.Purpose(s"as-of join$by: each row with the $which its time", "results", isOfMatches = false)
  }
}
