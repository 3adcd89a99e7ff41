package io.joinless.spark.rules.extract

import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.{EquiJoinCondition, JoinBlock, Leaf, Names, OuterScope, RelationNames, Term}
import io.joinless.spark.rules.blocks.Conditions._
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.joinless.KeyBytes

/** Reads a plan as join blocks: the maximal trees of streaming inner joins, with projections and
  * filters between them.
  *
  * Pure functions of the plan. A block's root is the topmost node of such a tree; every other
  * subtree is a leaf, and may contain blocks of its own. Names are resolved by scope: each subtree
  * maps its own output to expressions over the fresh attributes of its leaves. Expression ids may
  * repeat among leaves, but not on both sides of one join, where a reference would be ambiguous.
  *
  * A block ends where Spark reads a table that may change between two joins ([[StaticSides]]): the
  * joins below it are a block of their own.
  */
object ExtractJoinBlock {

  /** Whether `plan` is in the inner part of a block: a join of streams, or a node above one. */
  def holdsBlock(plan: LogicalPlan)(implicit statics: StaticSides): Boolean = plan match {
    case join @ InnerJoin(_, _, _) if joinsStreams(join) => true
    case InnerJoin(stream, table, _) if stream.isStreaming => statics.isReadableAnyTime(table) && continues(stream)
    case InnerJoin(table, stream, _) => statics.isReadableAnyTime(table) && continues(stream)
    case Transparent(child) => holdsBlock(child)
    case _ => false
  }

  /** Whether a block whose join has this child continues in it. */
  private def continues(child: LogicalPlan)(implicit statics: StaticSides): Boolean =
    holdsBlock(child) && changingTableReadIn(child).isEmpty

  /** The expression that reads tables that may change, from the top of a block down to its topmost
    * join.
    */
  def changingTableReadIn(plan: LogicalPlan)(implicit statics: StaticSides): Option[Expression] = {
    val readHere = plan.expressions.flatMap(conjuncts).find(statics.readsChangingTable)
    plan match {
      case Transparent(child) => readHere.orElse(changingTableReadIn(child))
      case _ => readHere
    }
  }

  /** Whether a child of a node inside a block is inside, too; else it is a leaf. */
  private def isInside(parent: LogicalPlan, child: LogicalPlan)(implicit statics: StaticSides): Boolean = parent match {
    case _: Join => continues(child)
    case _ => holdsBlock(child)
  }

  /** Applies `f` to the leaves of the block whose root is `plan`, from left to right; returns the
    * same object where nothing changes.
    */
  def mapLeaves(plan: LogicalPlan)(f: LogicalPlan => LogicalPlan)(implicit statics: StaticSides): LogicalPlan =
    if (!holdsBlock(plan)) f(plan)
    else plan.mapChildren(child => if (isInside(plan, child)) mapLeaves(child)(f) else f(child))

  /** The leaves of the block whose root is `plan`, from left to right. */
  def leaves(plan: LogicalPlan)(implicit statics: StaticSides): Seq[LogicalPlan] =
    if (!holdsBlock(plan)) Seq(plan)
    else plan.children.flatMap(child => if (isInside(plan, child)) leaves(child) else Seq(child))

  /** The topmost join of streams of the block whose root is `plan`: it has the block's reason. */
  def topJoin(plan: LogicalPlan): Join =
    plan.collectFirst { case join @ InnerJoin(_, _, _) if joinsStreams(join) => join }.get

  /** The block whose root is `root`, or why it cannot be read as one.
    *
    * @param needed the attributes of the root that are used above it
    */
  def apply(root: LogicalPlan, needed: AttributeSet)(implicit statics: StaticSides): Either[Reason, JoinBlock] =
    for {
      part <- if (holdsBlock(root)) partOf(root) else Right(Part.leaf(root))
      streaming <- JoinStaticSides(part.copy(leaves = named(part)))
    } yield block(root, streaming, needed)

  /** The part of the block below `plan`, for which [[holdsBlock]] is true. */
  private def partOf(plan: LogicalPlan)(implicit statics: StaticSides): Either[Reason, Part] = plan match {
    case join @ InnerJoin(left, right, conditions) =>
      (left.outputSet.intersect(right.outputSet).headOption, conditions.find(!_.deterministic)) match {
        case (Some(shared), _) => Left(Reason.of(Reason.AmbiguousColumns, "column" -> shared.name))
        case (_, Some(random)) => Left(Reason.of(Reason.NondeterministicCondition, "expression" -> Names.of(random)))
        case _ => for (l <- side(left); r <- side(right)) yield l.joined(r, conditions, join)
      }
    case Project(list, child) => partOf(child).map(_.select(list))
    case Filter(condition, child) => partOf(child).map(_.where(conjuncts(condition)))
    case other => throw new IllegalStateException(s"${other.nodeName} is not inside a block.")
  }

  /** A side of a join as a part: read further, or a leaf. */
  private def side(plan: LogicalPlan)(implicit statics: StaticSides): Either[Reason, Part] =
    if (continues(plan)) partOf(plan) else Right(Part.leaf(plan))

  /** A part as a block: its conditions are filters of one leaf, equi-join conditions, conditions
    * that only Spark's own nodes can evaluate (`late`), or residual.
    */
  private def block(root: LogicalPlan, part: Part, needed: AttributeSet): JoinBlock = {
    val owner = part.leaves.zipWithIndex.flatMap { case (leaf, i) => leaf.attributes.map(_.exprId -> i) }.toMap
    def leavesOf(e: Expression): Seq[Int] = OuterScope.attributes(e).flatMap(a => owner.get(a.exprId)).distinct

    // A condition on no column holds for all rows or for none: any leaf can check it. A condition
    // on a single leaf that can fail, and that Spark left above the joins, is evaluated on joined
    // rows only.
    val (ofOneLeaf, ofJoins) = part.conditions.partition(c => leavesOf(c).size <= 1 && !CanThrow(c))
    val filters = ofOneLeaf.groupBy(leavesOf(_).headOption.getOrElse(0))
    val split = ofJoins.map(condition => equiJoinCondition(condition, leavesOf).toRight(condition))
    val (late, residuals) = split.collect { case Left(condition) => condition }.partition(isLate(_))
    JoinBlock(
      root,
      part.joins,
      part.leaves,
      part.leaves.indices.map(filters.getOrElse(_, Nil)),
      split.collect { case Right(equiJoinCondition) => equiJoinCondition },
      part.keysOfRows.map(e => (leavesOf(e), e)).collect { case (Seq(leaf), e) => Term(leaf, e).identity }.toSet,
      residuals,
      late,
      part.output.filter { case (attribute, _) => needed.contains(attribute) }
    )
  }

  /** The condition as an equality of two leaves' terms; None if it is none. */
  private def equiJoinCondition(condition: Expression, leavesOf: Expression => Seq[Int]): Option[EquiJoinCondition] =
    condition match {
      case Equality(l, r) =>
        val (left, right) = KeyBytes.unwrapped(l, r)
        (leavesOf(left), leavesOf(right)) match {
          case (Seq(i), Seq(j)) if i != j =>
            Some(EquiJoinCondition(Term(i, left), Term(j, right), condition.isInstanceOf[EqualNullSafe]))
          case _ => None
        }
      case _ => None
    }

  /** Leaves named by the aliases of the query, as far as the plan has them; each name once. */
  private def named(part: Part): IndexedSeq[Leaf] = {
    val wanted = part.leaves.zipWithIndex.map { case (leaf, i) =>
      val qualifier = leaf.attributes.flatMap(a => part.qualifiers.get(a.exprId)).headOption
      RelationNames.of(leaf.plan).orElse(qualifier).getOrElse(s"r${i + 1}")
    }
    part.leaves.zip(Names.distinct(wanted)).map { case (leaf, name) => leaf.copy(name = name) }
  }
}
