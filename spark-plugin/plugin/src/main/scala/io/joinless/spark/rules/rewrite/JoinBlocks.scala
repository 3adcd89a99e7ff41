package io.joinless.spark.rules.rewrite

import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.counts.CountedGroups
import io.joinless.spark.rules.extract.StaticSides
import io.joinless.spark.rules.extract.ExtractJoinBlock.{holdsBlock, leaves, mapLeaves}
import io.joinless.spark.rules.scans.{MergeScans, Scan}
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project}

/** The top of a block.
  *
  * @param needed its attributes that are used above
  * @param groups a GROUP BY directly above it
  */
final case class BlockRoot(plan: LogicalPlan, needed: AttributeSet, groups: Option[Aggregate] = None)

/** The decision on a block. */
sealed trait Decision

/** The block is ours. */
sealed trait Ours extends Decision {
  def shape: BlockShape
}

/** The block is replaced; its results are enumerated. */
final case class Rewrite(block: RewriteBlock, shape: BlockShape) extends Ours

/** The block's results are counted for the GROUP BY above it. */
final case class RewriteCounted(groups: CountedGroups, block: RewriteBlock, shape: BlockShape) extends Ours

/** The block stays with Spark. */
final case class Keep(reason: Reason) extends Decision

/** The block was compiled when the query started; in a batch it only gets its position among the
  * blocks.
  */
final case class Place(shape: BlockShape) extends Ours

/** All blocks of a plan in preorder, including compiled ones: a block before those inside its
  * leaves. Their positions are their ordinals.
  */
object JoinBlocks {

  /** The tops of a plan's blocks. */
  def roots(plan: LogicalPlan)(implicit statics: StaticSides): IndexedSeq[BlockRoot] = roots(plan, plan.outputSet, None)

  /** The tops of blocks at and below a node of which these attributes are needed.
    *
    * @param groups the node's parent, if it is a GROUP BY
    */
  private def roots(
      plan: LogicalPlan,
      needed: AttributeSet,
      groups: Option[Aggregate]
  )(implicit statics: StaticSides): IndexedSeq[BlockRoot] =
    if (holdsBlock(plan) || plan.isInstanceOf[JoinFreeJoin])
      BlockRoot(plan, needed, groups) +: leavesOf(plan).toIndexedSeq.flatMap(leaf => roots(leaf, leaf.outputSet, None))
    else {
      val grouping = plan match { case aggregate: Aggregate => Some(aggregate); case _ => None }
      plan.children.toIndexedSeq.flatMap(child => roots(child, neededOf(child, plan, needed), grouping))
    }

  /** The leaves of a block, compiled or not. */
  private def leavesOf(root: LogicalPlan)(implicit statics: StaticSides): Seq[LogicalPlan] = root match {
    case compiled: JoinFreeJoin => compiled.scans
    case _ => leaves(root)
  }

  /** The attributes of a child that its parent, or an operator above, reads; all of them, where the
    * parent is neither a projection nor a condition.
    *
    * @param needed the attributes that are used above the parent
    */
  private[spark] def neededOf(child: LogicalPlan, parent: LogicalPlan, needed: AttributeSet): AttributeSet =
    parent match {
      case project: Project => project.references
      case filter: Filter => filter.references ++ needed
      case _ => child.outputSet
    }

  /** The plan with its blocks decided, in the order of [[roots]]; `eq` where all are kept. */
  def replaced(plan: LogicalPlan, decisions: Seq[Decision])(implicit statics: StaticSides): LogicalPlan =
    replaced(plan, decisions.iterator)

  /** The plan with its blocks decided; takes the next decision for each block in preorder. */
  private def replaced(plan: LogicalPlan, decisions: Iterator[Decision])(implicit statics: StaticSides): LogicalPlan = {
    def inner(leaf: LogicalPlan): LogicalPlan = replaced(leaf, decisions)

    /** A block with this decision; a block that is kept has the blocks in its leaves replaced. */
    def decided(root: LogicalPlan, decision: Decision) = decision match {
      case Rewrite(block, shape) => block.plan(shape, inner)
      case _ => mapLeaves(root)(inner)
    }
    plan match {
      case compiled: JoinFreeJoin => placed(compiled, decisions.next(), inner)
      case aggregate: Aggregate if holdsBlock(aggregate.child) =>
        decisions.next() match {
          case RewriteCounted(groups, block, shape) => block.plan(groups, shape, inner)
          case decision => plan.mapChildren(decided(_, decision))
        }
      case _ if holdsBlock(plan) => decided(plan, decisions.next())
      case _ => plan.mapChildren(inner)
    }
  }

  /** A compiled node in a batch: with its scans merged, and with its place in the query; `eq` where
    * nothing changes, and where it is not placed.
    */
  private def placed(compiled: JoinFreeJoin, decision: Decision, inner: LogicalPlan => LogicalPlan): JoinFreeJoin =
    decision match {
      case Place(shape) =>
        val leaves = compiled.scans.zip(compiled.rolesOfScan).map { case (scan, roles) => Scan(inner(scan), roles) }
        val scans = MergeScans(shape, leaves)
        val placed = compiled.copy(scans = scans.map(_.plan), rolesOfScan = scans.map(_.roles), shape = shape)
        if (placed.fastEquals(compiled)) compiled else placed
      case _ => compiled
    }
}
