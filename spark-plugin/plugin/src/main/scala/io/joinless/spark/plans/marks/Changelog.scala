package io.joinless.spark.plans.marks

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A relation given by its changes: rows of `child` are inserted and deleted by `weight`, and only
  * the plain columns are projected.
  *
  * The node exists in analyzed plans only. `joinless.changelog` inserts it; starting a query
  * compiles it away ([[io.joinless.spark.start.CompileDeltas]]), or refuses the query where the
  * node would reach Spark's own operators, which would take deletes for inserts. A plan that is
  * only inspected may contain it. Where rows of a changelog expire, one node stands above another,
  * until both are compiled as one.
  *
  * @param weight signed number of copies by which a row of `child` changes the relation; BIGINT,
  *   never NULL
  * @param hidden the columns of `child` that describe changes
  * @param time a TIMESTAMP, or a window, of `child`: rows are deleted by time when the watermark
  *   reaches it and `after` microseconds
  */
final case class Changelog(
    child: LogicalPlan,
    weight: Expression,
    hidden: Seq[Attribute],
    time: Option[Attribute] = None,
    after: Long = 0L
) extends UnaryNode {

  /** When rows are deleted by time. */
  def expiry: Option[Expiry] = time.map(Expiry(_, after, signed = hidden.nonEmpty))

  override def output: Seq[Attribute] = child.output.filterNot(a => hidden.exists(_.exprId == a.exprId))

  override protected def withNewChildInternal(newChild: LogicalPlan): Changelog = copy(child = newChild)
}

/** A row is deleted when the watermark reaches the time in `column` and `after` microseconds.
  *
  * @param signed or before, by a delete in the changelog
  */
final case class Expiry(column: Attribute, after: Long, signed: Boolean)

/** `changelog` in SQL, whose feed is not resolved yet.
  *
  * @param column of change types or of weights; `_change_type` if None
  */
final case class UnresolvedChangelog(child: LogicalPlan, column: Option[String]) extends UnaryNode {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def withNewChildInternal(newChild: LogicalPlan): UnresolvedChangelog = copy(child = newChild)
}

/** `latest` in SQL, whose rows are not resolved yet. */
final case class UnresolvedLatest(child: LogicalPlan, key: Seq[String], order: Seq[String]) extends UnaryNode {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def withNewChildInternal(newChild: LogicalPlan): UnresolvedLatest = copy(child = newChild)
}

/** `expire` in SQL, whose table is not resolved yet. */
final case class UnresolvedExpiry(child: LogicalPlan, column: String, after: String) extends UnaryNode {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def withNewChildInternal(newChild: LogicalPlan): UnresolvedExpiry = copy(child = newChild)
}
