package io.joinless.spark.rules.extract

import io.joinless.spark.plans.failures.{Attempt, CanThrow}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.{Conditions, Leaf, Linked, Names, OuterScope}
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Equality, Expression}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}

/** Moves the static sides of a block below it: each joins the one streaming leaf that its
  * conditions read, and Spark runs that join as part of the leaf, wherever the static side stands
  * in the FROM.
  *
  * Static sides linked by conditions move together. A set of them that is linked with no streaming
  * leaf, or with several, is a reason.
  */
private[spark] object JoinStaticSides {

  /** The part without static leaves, or why one of them cannot be moved. */
  def apply(part: Part): Either[Reason, Part] =
    if (part.leaves.forall(_.plan.isStreaming)) Right(part) else new JoinStaticSides(part).result
}

final private class JoinStaticSides(part: Part) {

  private val owner = part.leaves.zipWithIndex.flatMap { case (leaf, i) => leaf.attributes.map(_.exprId -> i) }.toMap
  private val streaming = part.leaves.indices.filter(part.leaves(_).plan.isStreaming)
  private val static = part.leaves.indices.diff(streaming)

  /** The conditions, each with the leaves that it reads. */
  private val touches: IndexedSeq[(Expression, Set[Int])] =
    part.conditions.map(c => c -> OuterScope.attributes(c).flatMap(a => owner.get(a.exprId)).toSet)

  /** The part with each group of static leaves in its streaming leaf, and without the conditions
    * that are checked there; or why a group cannot be moved.
    */
  def result: Either[Reason, Part] = {
    val homes = groups.map(group => group -> homesOf(group))
    homes.collectFirst { case (group, home) if home.size != 1 => Left(reason(group, home)) }.orElse(throwing).getOrElse {
      val guests = homes.groupMap { case (_, home) => home.head } { case (group, _) => group }
      val moved = guests.map { case (home, groups) => home -> groups.flatten.sorted.toIndexedSeq }
      Right(
        part.copy(
          leaves = streaming.map(i => moved.get(i).fold(part.leaves(i))(joined(i, _))),
          conditions = touches.collect {
            case (condition, leaves) if !moved.exists { case (home, statics) => isMoved(leaves, home, statics) } =>
              condition
          }
        )
      )
    }
  }

  /** A condition on a static side that can fail on rows on which Spark does not check it. Values
    * too large for their type do not count, as nothing is equal to them.
    */
  private def throwing: Option[Either[Reason, Part]] = touches.collectFirst {
    case (c, on) if on.exists(static.contains) && on.size > 1 && failsEarly(c) && !CanThrow.onlyByOverflow(c) =>
      Left(Reason.of(Reason.ThrowingKey, "key" -> Names.of(c, part.leaves)))
  }

  /** Whether a condition can fail on rows on which Spark does not check it. */
  private def failsEarly(condition: Expression): Boolean = CanThrow(condition) && !failsForSpark(condition)

  /** The condition in the form in which it is checked on more rows than Spark checks it on. */
  private def guarded(condition: Expression): Expression = condition match {
    case c if !failsEarly(c) => c
    case EqualTo(l, r) => EqualTo(attempt(l), attempt(r))
    case other => Attempt(other)
  }

  /** The value, or NULL where it fails. */
  private def attempt(value: Expression): Expression = if (CanThrow(value)) Attempt(value) else value

  /** Whether Spark, too, computes each side that can fail on every row of its leaf
    * (`Part.keysOfRows`). Spark computes any other expression later, on joined rows: static leaves
    * of a part stand above joins of streams.
    */
  private def failsForSpark(condition: Expression): Boolean = condition match {
    case Equality(l, r) =>
      Seq(l, r).forall(side => !CanThrow(side) || part.keysOfRows.exists(_.semanticEquals(side)))
    case _ => false
  }

  /** Static leaves linked by conditions, directly or through each other. */
  private def groups: Seq[Set[Int]] = Linked(static, touches.map(_._2.filter(static.contains)))

  /** The streaming leaves that conditions link with a group of static ones. */
  private def homesOf(group: Set[Int]): Set[Int] =
    touches.collect { case (_, on) if on.exists(group) => on.filter(streaming.contains) }.flatten.toSet

  /** Whether a condition is checked where static leaves are joined to their streaming leaf: it
    * reads one of them, and no other leaf but these.
    *
    * @param on the leaves that the condition reads
    */
  private def isMoved(on: Set[Int], home: Int, guests: Seq[Int]): Boolean =
    on.exists(guests.contains) && on.subsetOf(guests.toSet + home)

  /** A streaming leaf joined with its static ones, each as soon as a condition links it. */
  private def joined(home: Int, guests: IndexedSeq[Int]): Leaf = {

    /** The plan joined with the leaves `rest`, those first that a condition links; `inside` are the
      * leaves that it has.
      */
    def step(plan: LogicalPlan, inside: Set[Int], rest: IndexedSeq[Int]): LogicalPlan =
      if (rest.isEmpty) plan
      else {
        val next = rest.find(i => on(inside, i).nonEmpty).getOrElse(rest.head)
        val condition = on(inside, next).reduceOption(Conditions.and)
        val join = Join(plan, renamed(part.leaves(next)), Inner, condition, JoinHint.NONE)
        step(join, inside + next, rest.filterNot(_ == next))
      }

    /** The conditions that can be checked once `next` is joined to the leaves `inside`, and read
      * it.
      */
    def on(inside: Set[Int], next: Int): Seq[Expression] =
      touches.collect { case (c, on) if on(next) && on.subsetOf(inside + next) => guarded(c) }

    val attributes = (home +: guests).flatMap(part.leaves(_).attributes)
    Leaf(part.leaves(home).name, step(renamed(part.leaves(home)), Set(home), guests), attributes, attributes)
  }

  /** A leaf whose plan returns its fresh attributes. */
  private def renamed(leaf: Leaf): LogicalPlan = leaf.scan(leaf.attributes, Nil)

  /** Why static leaves that are linked with each other cannot be joined to a stream before the
    * block.
    *
    * @param homes the streaming leaves with which conditions link the group: none, or several
    */
  private def reason(group: Set[Int], homes: Set[Int]): Reason = {
    def names(leaves: Set[Int]) = leaves.toSeq.sorted.map(part.leaves(_).name).mkString(", ")
    Reason.of(
      Reason.StreamStaticJoin,
      "static" -> names(group),
      "relations" -> (if (homes.isEmpty) "none" else names(homes))
    )
  }
}
