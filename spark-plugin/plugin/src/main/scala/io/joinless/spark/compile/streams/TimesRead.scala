package io.joinless.spark.compile.streams

import io.joinless.spark.plans.nodes.StreamRef
import io.joinless.spark.rules.blocks.Conditions
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, BindReferences, Expression, ExpressionSet}
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Expand,
  Filter,
  Generate,
  Join,
  LogicalPlan,
  Project,
  Union
}

/** The times by which rows of each stream are late: those that the stateful operators above it
  * read, as in Spark. A row is late where any of them says so.
  * {{{
  * a LEFT JOIN b ON b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR
  *     rows of b: once W has reached ts
  * a LEFT JOIN (SELECT window(ts, '5 minutes') AS w FROM b) b ON b.w = a.w
  *     rows of b: once W has reached the end of w
  * (SELECT window(ts, '5 minutes') AS w, MAX(ts) FROM b GROUP BY 1)
  *     the same
  * }}}
  * Where windows overlap, several rows are made of one row, each with one window: whether it is
  * late is decided for each of them ([[varying]]).
  */
private[compile] object TimesRead {

  /** Per number of a stream, its times: each an expression over the columns of the stream, which it
    * reads by position. They are the event times among the columns that reach a stateful operator;
    * of the input of an aggregate those of its keys. A time that is several expressions over one
    * stream is left out ([[of]]).
    */
  def in(plan: LogicalPlan): Map[Int, Seq[Expression]] = plan match {
    case Aggregate(keys, _, child, _) if isRows(child) => of(child, keys.filter(isTime))
    case rows if isRows(rows) => of(rows, rows.output.filter(isTime))
    case other => other.children.map(in).foldLeft(Map.empty[Int, Seq[Expression]]) { (all, more) =>
        more.foldLeft(all) { case (known, (number, times)) =>
          known.updated(number, known.getOrElse(number, Nil) ++ times)
        }
      }
  }

  /** The time columns of `expand` that differ between the rows made of one row. */
  def varying(expand: Expand): Seq[Int] = expand.output.indices.filter { i =>
    isTime(expand.output(i)) && isRows(expand) && values(expand, expand.output(i)).groupBy(_._1.number).values.exists {
      found => distinct(found.map(_._2)).size > 1
    }
  }

  /** Whether it is a column with an event time. */
  private def isTime(column: Expression): Boolean = column match {
    case a: Attribute => Conditions.isEventTime(a)
    case _ => false
  }

  /** Whether these are rows of streams, without stateful operators. */
  private def isRows(plan: LogicalPlan): Boolean = plan match {
    case _: StreamRef => true
    case _: Project | _: Filter | _: Union | _: Expand | _: Generate => plan.children.forall(isRows)
    case join: Join => !Conditions.joinsStreams(join) && join.children.forall(isRows)
    case other => !other.isStreaming
  }

  /** The times of rows, per number of the stream whose columns they read. A time that is several
    * expressions over the same stream (its windows overlap, or parts of a union read it) is left
    * out.
    */
  private def of(rows: LogicalPlan, times: Seq[Expression]): Map[Int, Seq[Expression]] =
    times.flatMap { time =>
      values(rows, time).groupBy(_._1.number).toSeq.flatMap { case (number, found) =>
        distinct(found.map { case (ref, value) => BindReferences.bindReference(value, ref.output) }) match {
          case Seq(value) => Some(number -> value)
          case _ => None
        }
      }
    }.groupBy(_._1).map { case (number, found) => number -> distinct(found.map(_._2)) }

  /** The values, each once up to how it is written. */
  private def distinct(values: Seq[Expression]): Seq[Expression] = ExpressionSet(values).toSeq

  /** An expression over the columns of a plan, as expressions over the columns of the streams
    * below: one for each part of a union, and for each projection of an [[Expand]]. None for a
    * constant, and none where no child has all columns that it reads (columns that a generator
    * made, or those of both sides of a join).
    */
  private def values(plan: LogicalPlan, e: Expression): Seq[(StreamRef, Expression)] = plan match {
    case _ if e.references.isEmpty => Nil
    case ref: StreamRef => Seq(ref -> e)
    case Project(list, child) =>
      values(child, replaced(e, list.map(_.toAttribute), list.map { case Alias(value, _) => value; case a => a }))
    case union: Union => union.children.flatMap(part => values(part, replaced(e, union.output, part.output)))
    case Expand(projections, output, child) => projections.flatMap(list => values(child, replaced(e, output, list)))
    case other => other.children.filter(child => e.references.subsetOf(child.outputSet)).flatMap(values(_, e))
  }

  /** The expression with each column of `columns` replaced by the expression at the same position
    * of `by`.
    */
  private def replaced(e: Expression, columns: Seq[Attribute], by: Seq[Expression]): Expression = {
    val meaning = columns.map(_.exprId).zip(by).toMap
    e.transform { case a: Attribute => meaning.getOrElse(a.exprId, a) }
  }
}
