package io.joinless.spark.compile.template

import io.joinless.spark.plans.nodes.{Deferred, StreamRef}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.{Conditions, JoinBlock, Names}
import io.joinless.spark.rules.extract.{BlockEnds, ExtractJoinBlock, StaticSides}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._

/** The operators that may stand in a query whose changes are requested, as far as join trees do not
  * decide it.
  *
  * Below the joins these are projections, filters and unions of streams, and joins with static
  * tables. Where the block reads a changelog, a delete must be evaluated as its insert was: nothing
  * may be random, or change with time or with a table that is read together with the stream.
  */
final private[compile] class DeltaScope(isChangelog: StreamRef => Boolean, expires: StreamRef => Boolean) {

  /** Why a block cannot stand in such a query; None if it can. */
  def apply(block: JoinBlock)(implicit statics: StaticSides): Option[Reason] = {
    val leaves = block.leaves.map(_.plan)
    val expressions = block.filters.flatten ++ block.residuals ++ block.late ++ block.output.map(_._2)
    leaves.flatMap(unsupported(_)).headOption
      .orElse(watermark(leaves))
      .orElse(mixed(leaves))
      .orElse(if (leaves.exists(changes)) DeltaScope.changing(expressions ++ leaves.flatMap(below)) else None)
      .orElse(leaves.filter(changes).flatMap(staticSide).headOption)
  }

  /** Whether a plan reads a changelog. */
  private def changes(plan: LogicalPlan): Boolean =
    refs(plan).exists(isChangelog)

  /** Why a leaf cannot be compiled, if it cannot. Where it has changes, a static side is named
    * rather than the operator that ends blocks.
    */
  private def unsupported(leaf: LogicalPlan)(implicit statics: StaticSides): Option[Reason] = leaf match {
    case _: StreamRef => None
    case static if !static.isStreaming => None
    case union: Union if union.exists(changes) && union.children.exists(!_.isStreaming) =>
      union.children.find(!_.isStreaming).map { part =>
        Reason.of(Reason.StaticPartOfUnion, "static" -> Names.ofTable(part))
      }
    case _ =>
      BlockEnds(leaf).map(end => if (changes(leaf)) staticSide(leaf).getOrElse(end) else end).orElse(operator(leaf))
  }

  /** Why a node that ends no block, or a node below it, cannot be a part of a leaf; None if all
    * can.
    */
  private def operator(leaf: LogicalPlan)(implicit statics: StaticSides): Option[Reason] = leaf match {
    case _: Project | _: Filter | _: Union if !leaf.children.exists(ExtractJoinBlock.holdsBlock(_)) =>
      leaf.children.flatMap(unsupported(_)).headOption
    case join: Join if !join.joinType.isInstanceOf[InnerLike] =>
      Some(
        if (join.children.exists(changes)) DeltaScope.static(join.children.find(!_.isStreaming).getOrElse(join))
        else Reason.of(
          Reason.OuterJoin,
          "type" -> join.joinType.sql,
          "why" -> "one of its sides is a static table, which can be joined last"
        )
      )
    case join: Join if !Conditions.joinsStreams(join) => join.children.flatMap(unsupported(_)).headOption
    case other => Some(Reason.of(Reason.UnsupportedOperator, "operator" -> Names.called(other)))
  }

  /** The streams that a leaf reads. */
  private def refs(leaf: LogicalPlan): Seq[StreamRef] = leaf.collect { case ref: StreamRef => ref }

  /** Why rows that expire cannot be in a union with others, which would need a time, too. */
  private def mixed(leaves: Seq[LogicalPlan]): Option[Reason] =
    leaves.find(leaf => refs(leaf).size > 1 && refs(leaf).exists(expires))
      .map(_ => Reason.of(Reason.UnsupportedOperator, "operator" -> "UNION of rows that expire"))

  /** Why a changelog that does not expire cannot have a watermark: a delete may come when its time
    * has passed.
    */
  private def watermark(leaves: Seq[LogicalPlan]): Option[Reason] =
    leaves.flatMap(refs).filter(ref => isChangelog(ref) && !expires(ref)).flatMap(_.output)
      .find(_.metadata.contains(EventTimeWatermark.delayKey))
      .map(column => Reason.of(Reason.WatermarkOnChangelog, "column" -> column.name))

  /** All expressions in a leaf. */
  private def below(leaf: LogicalPlan): Seq[Expression] = leaf.collect { case node => node.expressions }.flatten

  /** The static table with which the rows of a leaf are joined, as a reason why the leaf cannot be
    * a changelog's.
    */
  private def staticSide(leaf: LogicalPlan): Option[Reason] = leaf.collectFirst {
    case join: Join if !Conditions.joinsStreams(join) => join.children.find(!_.isStreaming).getOrElse(join)
  }.map(DeltaScope.static)
}

private[compile] object DeltaScope {

  /** Whether rows that passed these projections and conditions may be deleted: a delete is
    * evaluated as its insert was.
    */
  def passes(plan: LogicalPlan): Boolean = changing(plan.collect { case node => node.expressions }.flatten).isEmpty

  /** An expression that may have another value when its row is deleted than when it was inserted,
    * as a reason: the first random one; else the first subquery; else the first of the current
    * time. None if there is none.
    */
  def changing(expressions: Seq[Expression]): Option[Reason] = {
    def subquery = expressions.flatMap(_.collectFirst { case e: SubqueryExpression => e.plan })
    def currentTime = expressions.flatMap(_.collectFirst { case e: Deferred => e })
    random(expressions)
      .orElse(subquery.headOption.map(static))
      .orElse(currentTime.headOption.map(e => Reason.of(Reason.TimeDependentExpression, "expression" -> Names.of(e))))
  }

  /** The first expression in them that has a different value at each evaluation by itself, not by a
    * part of it, as a reason; None if there is none.
    *
    * @param but whether an expression does not count
    */
  def random(expressions: Seq[Expression], but: Expression => Boolean = _ => false): Option[Reason] =
    expressions.flatMap(_.collectFirst {
      case e if !e.deterministic && e.children.forall(_.deterministic) && !but(e) => e
    }).headOption.map(e => Reason.of(Reason.NondeterministicExpression, "expression" -> Names.of(e)))

  /** A reason in a query over a changelog, if it is one: there a nondeterministic expression is
    * refused wherever it stands.
    */
  def above(changelog: Boolean)(reason: Reason): Reason =
    if (changelog && reason.code == Reason.NondeterministicCondition)
      Reason(Reason.NondeterministicExpression, reason.arguments)
    else reason

  /** The reason that a static table is joined to rows that may be deleted. */
  private[compile] def static(side: LogicalPlan): Reason =
    Reason.of(Reason.StaticSideOfChangelog, "static" -> Names.ofTable(side))
}
