package io.joinless.spark.rules.counts

import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin, RowWindows}
import io.joinless.spark.plans.values.{SumPart, WindowFunctions}
import io.joinless.spark.rules.blocks.OuterScope
import io.joinless.spark.rules.meaning.{ExpressionTexts, TimeZones}
import io.joinless.spark.rules.time.EventTimes
import io.joinless.spark.spec.{GroupShape, MeaningSpec, RowsSpec}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  BindReferences,
  Expression,
  Generator,
  NamedExpression,
  SortOrder
}
import org.apache.spark.sql.catalyst.plans.logical.{Expand, Filter, Generate, LogicalPlan, Project, Union, Window}

/** Changes of a query's rows, with their known properties.
  *
  * @param plan the query's columns, then those of `sums`, then the weight of each change (BIGINT,
  *   not NULL)
  * @param projected per column of the query, the position of the column of the stateful operator
  *   below that it projects; −1 where it is computed, or where there are several
  * @param text an expression over the query's columns as it is recorded
  * @param retractable rows can be deleted
  * @param sums per argument whose sum was requested, the columns with the sum; None where it is to
  *   be computed from the query's columns
  * @param keys per key by which the rows are grouped, its column; None where it is to be computed
  * @param times the query's columns that are closing times, by position, with their lags
  *   ([[EventTimes]]); used where rows are emitted once they are final
  */
final case class WeightedRows(
    plan: LogicalPlan,
    projected: Seq[Int],
    text: Expression => String,
    retractable: Boolean,
    sums: IndexedSeq[Option[Seq[SumColumns]]] = IndexedSeq.empty,
    keys: IndexedSeq[Option[Int]] = IndexedSeq.empty,
    times: Map[Int, Long] = Map.empty
) {

  /** The lag of a column of `query` that is a closing time. */
  def lag(query: LogicalPlan)(column: Attribute): Option[Long] =
    times.get(query.output.indexWhere(_.exprId == column.exprId))

  /** A projection of the rows of `query`. */
  def project(list: Seq[NamedExpression], query: LogicalPlan): WeightedRows = {
    val values = list.map { case Alias(value, _) => value; case column => column }
    val columns = values.map(value => Alias(own(value, query), "result")())
    val meaning = list.map(_.exprId).zip(values).toMap
    copy(
      Project(columns :+ plan.output.last, plan),
      values.map { case a: Attribute => projected(query.output.indexWhere(_.exprId == a.exprId)); case _ => -1 },
      e => text(OuterScope.replace(e)(a => meaning.getOrElse(a.exprId, a))),
      times = EventTimes.in(list, lag(query))
    ).noted(values.map(text), values)
  }

  /** The rows of `query` for which a condition holds. */
  def filter(condition: Expression, query: LogicalPlan): WeightedRows =
    copy(Filter(own(condition, query), plan)).noted(Seq(text(condition)), Seq(condition))

  /** Each row several times, once for each of `expand`'s projections. */
  def expand(expand: Expand): WeightedRows = {
    val output = expand.output.map(_.newInstance()) :+ plan.output.last.newInstance()
    val projections = expand.projections.map(_.map(own(_, expand.child)) :+ plan.output.last)
    val texts = expand.output.indices.map(i => expand.projections.map(list => text(list(i))).mkString("(", " OR ", ")"))
    val close = EventTimes.ofAll(expand.projections.map(EventTimes.made(expand.output, _, lag(expand.child))))
    copy(
      Expand(projections, output, plan),
      output.init.map(_ => -1),
      WeightedRows.named(expand.output, texts),
      times = close
    ).noted(
      texts,
      expand.projections.flatten
    )
  }

  /** Each row with each of the rows that `generate` makes of it. */
  def generate(generate: Generate): WeightedRows = {
    val made = generate.generatorOutput.map(_.newInstance())
    val generator = own(generate.generator, generate.child).asInstanceOf[Generator]
    val generated = Generate(generator, Nil, generate.outer, generate.qualifier, made, plan)
    val kept = generate.requiredChildOutput.map(a => own(a, generate.child).asInstanceOf[Attribute])
    val texts = generate.requiredChildOutput.map(text) ++ made.map(a => s"${text(generate.generator)}.${a.name}")
    copy(
      Project((kept ++ made).map(a => Alias(a, "result")()) :+ plan.output.last, generated),
      kept.map(_ => -1) ++ made.map(_ => -1),
      WeightedRows.named(generate.output, texts),
      times = EventTimes.in(generate.requiredChildOutput, lag(generate.child))
    ).noted(texts, Seq(generate.generator))
  }

  /** The rows of partitions, which are consecutive, with the values of window functions. Old and
    * new rows are computed separately.
    */
  def windows(window: Window): WeightedRows = {
    val made = window.windowExpressions.map(_.toAttribute.newInstance())
    def bound(e: Expression) = BindReferences.bindReference(own(e, window.child), plan.output)
    val partition = window.partitionSpec.map(own(_, window.child)).map { key =>
      plan.output.indexWhere(_.semanticEquals(key))
    }
    val values = window.windowExpressions.map { case Alias(value, _) => value; case other => other }
    val functions = WindowFunctions(
      values.map(bound),
      partition :+ plan.output.size - 1,
      window.orderSpec.map(bound(_).asInstanceOf[SortOrder])
    )
    val all = RowWindows(plan, functions, plan.output ++ made)
    val texts = values.map(text)
    copy(
      Project((plan.output.init ++ made).map(Alias(_, "result")()) :+ plan.output.last, all),
      projected ++ made.map(_ => -1),
      WeightedRows.named(window.output, window.child.output.map(text) ++ texts)
    ).noted(texts, values)
  }

  /** These rows, where the stateful operators from which they come record the expressions that
    * compute them, if rows can be deleted: a delete must have the values of its insert, also after
    * a restart. The first stateful operator on each way down records them. They stand among its
    * conditions, also where they are projected values.
    *
    * @param texts the expressions as they are recorded
    * @param expressions the expressions themselves: the time zone on which they depend is recorded,
    *   too
    */
  private def noted(texts: Seq[String], expressions: Seq[Expression]): WeightedRows = {
    val zone = TimeZones.ofTexts(expressions)
    recorded(
      meaning =>
        meaning.copy(conditions = (meaning.conditions ++ texts).sorted, zone = TimeZones.both(meaning.zone, zone)),
      { groups =>
        val above = groups.above.getOrElse(RowsSpec(IndexedSeq.empty, IndexedSeq.empty))
        val withTexts = above.copy(filters = (above.filters ++ texts).sorted)
        groups.copy(above = Some(withTexts), zone = TimeZones.both(groups.zone, zone))
      }
    )
  }

  /** These rows as the result of a query with these columns, which are recorded in their order: what
    * is noted on the way has none, and would be the same for two columns that were exchanged.
    */
  def emitting(columns: Seq[Attribute]): WeightedRows = {
    val texts = Some(columns.map(text).toIndexedSeq)
    recorded(_.copy(emitted = texts), _.copy(emitted = texts))
  }

  /** These rows, where the first stateful operators on each way down record something, if rows can
    * be deleted.
    */
  private def recorded(ofJoin: MeaningSpec => MeaningSpec, ofGroups: GroupShape => GroupShape): WeightedRows = {
    def note(below: LogicalPlan): LogicalPlan = below match {
      case join: JoinFreeJoin => join.copy(shape = join.shape.having(MeaningSpec, join.shape.meaning.map(ofJoin)))
      case groups: Groups => groups.copy(shape = ofGroups(groups.shape))
      case other => other.withNewChildren(other.children.map(note))
    }
    if (retractable) copy(note(plan)) else this
  }

  /** The columns in which an argument is added up.
    *
    * @param arguments those whose sums were requested
    */
  def sumOf(arguments: IndexedSeq[Expression], argument: Expression): Option[Seq[SumColumns]] =
    sums.lift(arguments.indexWhere(_.semanticEquals(argument))).flatten

  /** An expression over the columns of `query`, whose rows these are, rewritten over those of the
    * plan.
    */
  def own(e: Expression, query: LogicalPlan): Expression =
    OuterScope.replace(e)(a => plan.output(query.output.indexWhere(_.exprId == a.exprId)))
}

/** A part of a sum among the columns of weighted rows.
  *
  * @param first where the part's columns begin
  */
final case class SumColumns(first: Int, part: SumPart)

object WeightedRows {

  /** The rows of a union's parts. No column projects just one column below, so `projected` is −1
    * for all; the text of a column names those of all parts.
    *
    * @param parts of the union's children, in their order
    */
  def united(union: Union, parts: Seq[WeightedRows]): WeightedRows = {
    val texts = union.output.indices.map { i =>
      parts.zip(union.children).map { case (part, query) => part.text(query.output(i)) }.mkString(
        "(",
        " UNION ALL ",
        ")"
      )
    }
    WeightedRows(
      Union(parts.map(_.plan)),
      union.output.map(_ => -1),
      named(union.output, texts),
      parts.exists(_.retractable),
      times = EventTimes.ofAll(parts.map(_.times))
    )
  }

  /** Texts of expressions over columns that have these texts. */
  private def named(columns: Seq[Attribute], texts: Seq[String]): Expression => String = e =>
    ExpressionTexts.plain(OuterScope.replace(e) { a =>
      val i = columns.indexWhere(_.exprId == a.exprId)
      if (i < 0) a else a.withName(ExpressionTexts.asName(texts(i))).withQualifier(Nil)
    })
}
