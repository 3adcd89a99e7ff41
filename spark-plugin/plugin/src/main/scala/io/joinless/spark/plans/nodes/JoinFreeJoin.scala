package io.joinless.spark.plans.nodes

import io.joinless.spark.plans.reasons.{Reason, UnboundedTime}
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** A block of streaming inner equi-joins, as one node.
  *
  * Everything is positional, so that rules which rename or prune attributes below cannot change its
  * meaning:
  *   - `scans(i)` returns the stored columns of its relations' input, in order; for a changelog
  *     then the row's weight (BIGINT, not NULL); where it stands for several relations
  *     (`rolesOfScan(i)`), one BOOLEAN column per role follows: true where that relation accepts
  *     the row;
  *   - `residuals(j)` is a predicate over `BoundReference`s into `shape.residuals(j).columns`;
  *   - `output` matches `shape.output` position by position; with `deltas` the weight of the change
  *     follows (BIGINT, not NULL, never 0);
  *   - `lag`: by how many microseconds event times of later rows can be below the watermark, for
  *     the operators above;
  *   - `unbounded`: columns of `output` in which later rows can have times of any age;
  *   - `notes`: what users should know of it, although it is rewritten.
  */
final case class JoinFreeJoin(
    scans: Seq[LogicalPlan],
    rolesOfScan: Seq[Seq[Int]],
    shape: BlockShape,
    residuals: Seq[Expression],
    output: Seq[Attribute],
    deltas: Boolean = false,
    lag: Long = 0L,
    unbounded: Seq[UnboundedTime] = Nil,
    notes: Seq[Reason] = Nil
) extends LogicalPlan {

  override def children: Seq[LogicalPlan] = scans

  /** All of the scans' columns are needed; without this, column pruning would empty them. */
  override lazy val references: AttributeSet = AttributeSet(scans.flatMap(_.output))

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def nodeName: String = "JoinFreeJoin"

  /** Errors of Spark print the plan: the record of a block would be most of it. */
  override protected def stringArgs: Iterator[Any] = Iterator(shape.names, output)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[LogicalPlan]): JoinFreeJoin =
    copy(scans = newChildren)
}
