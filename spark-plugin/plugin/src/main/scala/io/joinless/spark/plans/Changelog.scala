package io.joinless.spark.plans

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A relation given by its changes: rows of `child` come and go by `weight`, and only the plain columns show.
  *
  * The node exists in analyzed plans only. `joinless.changelog` puts it there; starting a query compiles it away
  * ([[io.joinless.spark.start.CompileDeltas]]), or refuses the query where it would reach Spark's own operators, which
  * would take deletes for inserts. A plan that is only looked at may show it. Where rows of a changelog expire, one node stands above
  * another, until both are compiled as one.
  *
  * @param weight signed number of copies by which a row of `child` changes the relation; BIGINT, never NULL
  * @param hidden the columns of `child` that tell of changes
  * @param time a TIMESTAMP, or a window, of `child`: rows go by themselves when the watermark reaches it and `after` microseconds
  */
final case class Changelog(
    child: LogicalPlan,
    weight: Expression,
    hidden: Seq[Attribute],
    time: Option[Attribute] = None,
    after: Long = 0L
) extends UnaryNode {

  /** When rows go by themselves. */
  def expiry: Option[Expiry] = time.map(Expiry(_, after, signed = hidden.nonEmpty))

  override def output: Seq[Attribute] = child.output.filterNot(a => hidden.exists(_.exprId == a.exprId))

  override protected def withNewChildInternal(newChild: LogicalPlan): Changelog = copy(child = newChild)
}

/** A row goes when the watermark reaches the time in `column` and `after` microseconds.
  *
  * @param signed or before, by the changelog that tells of it
  */
final case class Expiry(column: Attribute, after: Long, signed: Boolean)

/** `expire` in SQL, whose table is not resolved yet. */
final case class UnresolvedExpiry(child: LogicalPlan, column: String, after: String) extends UnaryNode {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def withNewChildInternal(newChild: LogicalPlan): UnresolvedExpiry = copy(child = newChild)
}
