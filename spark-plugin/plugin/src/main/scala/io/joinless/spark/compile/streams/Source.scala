package io.joinless.spark.compile.streams

import io.joinless.spark.plans.marks.{Changelog, Expiry}
import io.joinless.spark.plans.nodes.Groups
import io.joinless.spark.rules.blocks.Conditions
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** A stream of a compiled query: one that the query reads, or rows that the query itself derives
  * and that the operators above read as a stream.
  */
sealed abstract private[compile] class Source {

  /** The plan of its rows. */
  def rows: LogicalPlan

  /** The columns of its rows, without those that describe changes. */
  def output: Seq[Attribute]

  /** By how many copies a row changes the stream; None where each row is inserted once. */
  def weight: Option[Expression]

  /** The query itself derives its rows. None of these is late. */
  def isDerived: Boolean

  /** The lag of a column that is a closing time ([[io.joinless.spark.rules.time.EventTimes]]).
    *
    * @param column the column of the reference at this position
    */
  def lag(column: Attribute, position: Int): Option[Long]

  /** The groups of which these are the rows. */
  def groups: Option[Groups] = None

  /** When rows are deleted by time. */
  def expiry: Option[Expiry] = None
}

private[compile] object Source {

  /** A stream whose rows are only inserted. */
  final case class Appended(rows: LogicalPlan) extends Source {
    override def output: Seq[Attribute] = rows.output
    override def weight: Option[Expression] = None
    override def isDerived: Boolean = false
    override def lag(column: Attribute, position: Int): Option[Long] = Option.when(Conditions.isEventTime(column))(0L)
  }

  /** A stream that the user has marked as changes. */
  final case class Marked(mark: Changelog) extends Source {
    override def rows: LogicalPlan = mark.child
    override def output: Seq[Attribute] = mark.output
    override def weight: Option[Expression] = Some(mark.weight)
    override def isDerived: Boolean = false
    override def lag(column: Attribute, position: Int): Option[Long] = None
    override def expiry: Option[Expiry] = mark.expiry
  }

  /** Rows of the query, the last column of which is a weight. */
  sealed trait Derived extends Source {
    override def output: Seq[Attribute] = rows.output.init
    override def isDerived: Boolean = true
  }

  /** Changes of rows. */
  sealed trait Changing extends Derived {
    override def weight: Option[Expression] = Some(rows.output.last)
    override def lag(column: Attribute, position: Int): Option[Long] = None
  }

  final case class ChangingRows(rows: LogicalPlan) extends Changing

  final case class ChangingGroups(rows: Groups) extends Changing {
    override def groups: Option[Groups] = Some(rows)
  }

  /** Rows that are emitted once they are final.
    *
    * @param times the lags of columns that are closing times, by position
    */
  final case class FinalRows(rows: LogicalPlan, times: Map[Int, Long]) extends Derived {
    override def weight: Option[Expression] = None
    override def lag(column: Attribute, position: Int): Option[Long] = times.get(position)
  }

  final case class FinalGroups(rows: Groups) extends Derived {
    override def weight: Option[Expression] = None
    override def groups: Option[Groups] = Some(rows)
    override def lag(column: Attribute, position: Int): Option[Long] =
      rows.shape.closes.find(_.ordinal == position).map(_.after)
  }
}
