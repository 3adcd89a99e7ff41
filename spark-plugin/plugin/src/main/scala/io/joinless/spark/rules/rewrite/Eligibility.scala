package io.joinless.spark.rules.rewrite

import io.joinless.engine.query.{BagNode, CyclicCore, GyoReduction, JoinTree, TreeSearch}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.{Components, Names}
import io.joinless.spark.rules.extract.{BlockEnds, StaticSides}
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.catalyst.expressions.Equality
import org.apache.spark.sql.joinless.KeyBytes

/** Decides whether a block is rewritten, and by which join tree; otherwise why not.
  *
  * @param recorded the block as it was rewritten before, if it was: then its tree is continued, and
  *   only what makes it impossible counts, settings do not
  * @param compiled the changes of the block were requested, and Spark cannot run it: no block is
  *   too small, and all of its conditions are evaluated here
  * @param begun the block was rewritten before, and its tree will be taken from the record:
  *   settings do not count
  * @param single leaves of at most one row: nothing needs to link them with the others
  */
final class Eligibility(
    conf: JoinlessConf,
    recorded: Option[BlockShape],
    compiled: Boolean = false,
    begun: => Boolean = false,
    single: Set[Int] = Set.empty
) {

  /** The join tree of the block, or the first reason against it. */
  def apply(layout: BlockLayout)(implicit statics: StaticSides): Either[Reason, JoinTree] =
    for {
      _ <- keyType(layout).toLeft(())
      _ <- chosen(tooMany(layout).orElse(throwingKey(layout)))
      tree <- tree(layout)
      _ <- chosen(tooFew(layout).orElse(unlinked(layout)))
    } yield tree

  /** Applies a reason that depends on settings, which count for new blocks only. */
  private def chosen(reason: => Option[Reason]): Either[Reason, Unit] =
    if (recorded.isDefined) Right(()) else reason.filterNot(_ => begun).toLeft(())

  /** Refuses a key whose equal values can differ in their bytes. */
  private def keyType(layout: BlockLayout): Option[Reason] =
    layout.classes.attributes.iterator.flatMap(_.members).find(term => !KeyBytes.comparable(term.expression.dataType)).map {
      key =>
        Reason.of(
          Reason.UnsupportedKeyType,
          "key" -> Names.of(key, layout.block.leaves),
          "type" -> key.expression.dataType.sql
        )
    }

  /** Refuses a key that would be computed for rows on which Spark does not compute it, and can fail
    * on them.
    */
  private def throwingKey(layout: BlockLayout): Option[Reason] = layout.unguarded.headOption.map { key =>
    Reason.of(Reason.ThrowingKey, "key" -> Names.of(key, layout.block.leaves))
  }

  /** Refuses a block of more relations than the setting allows, or than a bit set holds. */
  private def tooMany(layout: BlockLayout): Option[Reason] = {
    val found = layout.block.leaves.size
    val maximum = conf.maxRelations.min(Eligibility.MaxRoles)
    Option.when(found > maximum) {
      Reason.of(Reason.TooManyRelations, "found" -> found.toString, "maximum" -> maximum.toString)
    }
  }

  /** Refuses a block of fewer relations than the setting demands. If there are joins below it that
    * an operator keeps apart, that operator is the reason: with them the block could be large
    * enough.
    */
  private def tooFew(layout: BlockLayout)(implicit statics: StaticSides): Option[Reason] = {
    val found = layout.block.leaves.size
    Option.when(found < conf.minRelations && !compiled) {
      splitBy(layout).getOrElse(
        Reason.tooFew(found, conf.minRelations)
      )
    }
  }

  /** Why the block does not include the joins below it. */
  private def splitBy(layout: BlockLayout)(implicit statics: StaticSides): Option[Reason] =
    layout.block.leaves.iterator.flatMap(leaf => BlockEnds(leaf.plan)).nextOption()

  /** The recorded tree if it fits, else the best one; that of a cyclic block is a bag. */
  private def tree(layout: BlockLayout): Either[Reason, JoinTree] =
    recorded.filter(fits(layout)).map(_.tree).toRight(()).left.flatMap { _ =>
      val sizes = conf.expectedRows(layout.block.leaves.map(_.name))
      val (graph, by) = (layout.hypergraph, layout.classes.groupedBy)
      val best =
        if (by.isEmpty) TreeSearch.best(graph, sizes)
        else GyoReduction.reduce(graph).map(_ => TreeSearch.keyedBy(graph, by, sizes).get) // see SampledRows
      best.left.flatMap(core => bag(layout).toRight(cyclic(layout, core)))
    }

  /** The bag of all relations of a cyclic block; None where such blocks are left to Spark. */
  private def bag(layout: BlockLayout): Option[JoinTree] = {
    val bag = BagNode.of(layout.hypergraph)
    Option.when(intersects && bag.attributes.size <= BagNode.MaxAttributes)(bag)
  }

  /** Whether cyclic blocks are joined by intersection: a checkpoint goes on as it was begun. Compiled
    * ones that are not have no cycle any more.
    */
  private def intersects: Boolean = compiled || recorded.exists(_.isBag) || conf.cyclicJoins

  /** Whether a recorded block joins its relations by the same attributes, so that its tree is one
    * of this block.
    */
  private def fits(layout: BlockLayout)(shape: BlockShape): Boolean =
    shape.relations.map(_.keys.map(_.attribute)) == layout.keys.map(_.map(_.attribute))

  /** The reason that the relations of a core form a cycle, with the ways out of it. */
  private def cyclic(layout: BlockLayout, core: CyclicCore): Reason = {
    val leaves = layout.block.leaves
    val relations = "relations" -> core.relations.toSeq.map(leaves(_).name).mkString(", ")
    val attributes = "attributes" -> core.attributes.toSeq
      .map(layout.classes.attributes(_).members.map(Names.of(_, leaves)).mkString(" = "))
      .mkString(", ")
    val why =
      if (intersects) s"it has more than ${BagNode.MaxAttributes} join attributes"
      else s"${JoinlessConf.CYCLIC_JOINS_ENABLED.key} is false"
    Reason(Reason.CyclicJoinGraph, Seq(relations, attributes, "why" -> why) ++ WaysOutOfCycles(layout.block, core))
  }

  /** Refuses relations that no equi-join condition of two relations links with the others, where
    * cross products are switched off, or where Spark has an equality over more relations by which
    * it joins the result of other joins.
    */
  private def unlinked(layout: BlockLayout): Option[Reason] = {
    val components = Components(layout.block).filterNot(_.subsetOf(single))
    val links =
      layout.block.residuals.filter(residual =>
        !components.exists(Components.leavesOf(layout.block, residual).subsetOf)
      )
    val equality = links.collectFirst { case e @ Equality(_, _) => e }
    Option.when(components.size > 1 && (!conf.crossProducts || equality.isDefined && !compiled)) {
      val leaves = layout.block.leaves
      val left = components.head
      val link = equality.orElse(links.headOption)
      val sides = Seq(
        "left" -> left.toSeq.sorted.map(leaves(_).name).mkString(", "),
        "right" -> components.tail.flatten.sorted.map(leaves(_).name).mkString(", ")
      )
      link match {
        case Some(condition) =>
          Reason(Reason.NonEquiJoin, sides :+ ("condition" -> Names.of(condition, leaves)))
        case None => Reason(Reason.CrossProduct, sides)
      }
    }
  }
}

object Eligibility {

  /** Roles of a row are the bits of a `Long`, one of which is the sign. */
  val MaxRoles: Int = 63
}
