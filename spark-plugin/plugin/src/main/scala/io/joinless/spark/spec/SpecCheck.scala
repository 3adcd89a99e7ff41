package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import io.joinless.spark.errors.Mismatch

/** Whether a spec makes sense in itself: every position exists, and the tree is a join tree of the relations.
  *
  * A join tree: each relation stands for exactly one node, whose attributes are the relation's; a generalized node's
  * attributes are contained in each of its children; the nodes with a given attribute are connected, that is, all but
  * one of them have it in common with their parent.
  */
object SpecCheck {

  /** What is wrong, as a sentence; nothing where all is well. */
  def problem(spec: BlockSpec): Option[(Mismatch, String)] =
    SpecBounds.problem(spec).orElse(positions(spec)).map(what =>
      (Mismatch.Unreadable, s"Its recorded join block contradicts itself: $what.")
    )
      .orElse(joinTree(spec).map(what => (Mismatch.Tree, s"Its recorded join tree does not fit its relations: $what.")))

  private def positions(spec: BlockSpec): Option[String] = {
    def column(c: ColumnRef) = spec.relations.indices.contains(c.relation) && {
      spec.inputs(spec.relations(c.relation).input).columns.indices.contains(c.ordinal)
    }
    val relations = spec.relations.indices.find { r =>
      val relation = spec.relations(r)
      !spec.inputs.indices.contains(relation.input) || relation.keys.map(_.attribute).distinct.size != relation.keys.size ||
      !relation.keys.forall(k => spec.attributes.indices.contains(k.attribute) && column(ColumnRef(r, k.ordinal)))
    }
    if (spec.relations.isEmpty) Some("it has no relations")
    else if (relations.isDefined) Some(s"relation ${spec.relations(relations.get).name} names what is not there")
    else if (!(spec.output ++ spec.residuals.flatMap(_.columns)).forall(column))
      Some("its output or a condition names a column that is not there")
    else if (spec.shares.size != spec.attributes.size || spec.shares.exists(_ < 1))
      Some(s"it has ${spec.attributes.size} attributes and the shares ${spec.shares.mkString(", ")}")
    else if (spec.shape.origins.exists(_.size != spec.relations.size))
      Some("its rows come from as many places as it has no relations")
    else if (spec.shape.meaning.exists(_.rows.size != spec.relations.size))
      Some("its rows are those of other relations")
    else if (spec.relations.exists(r => r.keys.map(_.attribute) != r.keys.map(_.attribute).sorted))
      Some("the keys of a relation are out of order")
    else if (SpecBounds.keysOfDifferentForm(spec).isDefined) SpecBounds.keysOfDifferentForm(spec)
    else if (spec.shape.result.exists(r => r.values.size != r.columns.size || r.residuals.size != spec.residuals.size))
      Some("its result has other columns or conditions than the block")
    else None
  }

  private def joinTree(spec: BlockSpec): Option[String] = {
    val nodes = spec.tree.preorder
    def stray = nodes.collectFirst {
      case RelationNode(r, _, _) if !spec.relations.indices.contains(r) => s"relation $r is not there"
      case RelationNode(r, attributes, _)
          if attributes != BitSet.fromSpecific(spec.relations(r).keys.map(_.attribute)) =>
        s"the node of ${spec.relations(r).name} has other attributes"
      case g: GeneralizedNode if !g.children.forall(c => g.attributes.subsetOf(c.attributes)) =>
        "a generalized node has attributes that a child lacks"
    }
    lazy val pairs = edges(spec.tree)
    def torn = spec.attributes.indices.find { x =>
      nodes.count(_.attributes(x)) - pairs.count { case (p, c) => p.attributes(x) && c.attributes(x) } > 1
    }
    SpecBounds.shape(spec.tree)
      .orElse(stray)
      .orElse(Option.when(spec.tree.relations != spec.relations.indices)("a relation is missing or stands twice"))
      .orElse(torn.map(x => s"the nodes with ${spec.attributes(x).name} are not connected"))
  }

  private def edges(tree: JoinTree): IndexedSeq[(JoinTree, JoinTree)] =
    tree.preorder.flatMap(parent => parent.children.map(child => (parent, child)))
}
