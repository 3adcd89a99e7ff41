package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import io.joinless.spark.errors.Mismatch

/** Checks that a spec is consistent: every position exists, and the tree is a join tree of the
  * relations.
  *
  * In a join tree, each relation stands for exactly one node, whose attributes are the relation's;
  * a generalized node's attributes are contained in each of its children; the nodes with a given
  * attribute are connected, that is, all but one of them share it with their parent.
  */
object SpecCheck {

  /** The problem, as a sentence; None where the spec is consistent. */
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
    else if (spec.relations.indices.exists(r => !spec.relations(r).lifetime.forall(isLifetime(spec, r, _))))
      Some("a relation's rows are needed until a time that is not there")
    else if (spec.retractable && spec.relations.exists(r => expires(spec, r) != r.lifetime.isDefined))
      Some("rows that expire have no time, or others have one")
    else if (spec.shape.reduction.isDefined && !spec.inputs.forall(_.retractable))
      Some("its results are counted, and its rows are not")
    else if (spec.relations.exists(r => r.keys.map(_.attribute) != r.keys.map(_.attribute).sorted))
      Some("the keys of a relation are out of order")
    else if (SpecBounds.keysOfDifferentForm(spec).isDefined) SpecBounds.keysOfDifferentForm(spec)
    else if (spec.shape.result.exists(r => r.values.size != r.columns.size || r.residuals.size != spec.residuals.size))
      Some("its result has other columns or conditions than the block")
    else None
  }

  private def expires(spec: BlockSpec, relation: RelationSpec): Boolean =
    spec.inputs(relation.input).kind.expires

  private def isLifetime(spec: BlockSpec, relation: Int, lifetime: LifetimeSpec): Boolean =
    lifetime.times.forall { time =>
      spec.inputs(spec.relations(relation).input).columns.lift(time.ordinal).exists(c => TimeSpec.isTime(c.dataType))
    }

  private def joinTree(spec: BlockSpec): Option[String] = {
    val keys = spec.relations.map(r => BitSet.fromSpecific(r.keys.map(_.attribute)))
    def name(x: Int) = spec.attributes.lift(x).fold(s"column $x")(_.name)
    problem(spec.tree, spec.relations.indices, keys, name)
      .orElse(spec.shape.reduction.flatMap(reduction(spec.shape, _, name)))
  }

  private def reduction(shape: BlockShape, reduction: ReductionSpec, name: Int => String): Option[String] = {
    val vertices = ReducedBlock.Vertices(shape)
    val graph = vertices.graph
    val components = reduction.components.indices
    val tops = reduction.top.preorder.collect { case RelationNode(c, attributes, _) => c -> attributes }
    val bounds = (reduction.components :+ reduction.top).flatMap(SpecBounds.shape(_)).headOption
    val factors = reduction.sums ++ reduction.failures
    if (bounds.isDefined) bounds
    else if (!factors.forall(isProduct(shape, _)))
      Some("a sum is of columns that are not there, or that are no numbers")
    else if (factors.nonEmpty && reduction.once) Some("results that count once are added up")
    else if (reduction.components.flatMap(_.relations).sorted != graph.edges.indices)
      Some("its components do not have each relation once")
    else if (tops.map(_._1).sorted != components) Some("the tree of components does not have each once")
    else {
      val projected = components.map(reduction.projected)
      val trees = components.flatMap(c =>
        problem(reduction.components(c), reduction.components(c).relations, graph.edges, name)
      )
      val hidden = vertices.projected.exists(x => !projected.exists(_(x)))
      val attributes = components.map(c => graph.attributesOf(BitSet.fromSpecific(reduction.components(c).relations)))
      val apart = components.exists(a =>
        components.exists(b => a < b && !(attributes(a) & attributes(b)).subsetOf(projected(a) & projected(b)))
      )
      trees.headOption.orElse(problem(reduction.top, components, projected, name))
        .orElse(Option.when(hidden)("its components do not project what its results do"))
        .orElse(Option.when(components.exists(c => !projected(c).subsetOf(reduction.components(c).attributes)))(
          "the root of a component lacks what that projects"
        ))
        .orElse(Option.when(apart)("components have more in common than they project"))
    }
  }

  /** Whether the factors of a sum are stored numbers. */
  private def isProduct(shape: BlockShape, sum: SumSpec): Boolean =
    sum.factors.nonEmpty && sum.factors.forall { c =>
      shape.relations.lift(c.relation).flatMap(r => shape.inputs(r.input).columns.lift(c.ordinal))
        .exists(column => FactorLift.takes(column.dataType))
    }

  /** Why a tree is no join tree of these relations, which together have these attributes. */
  private def problem(
      tree: JoinTree,
      relations: IndexedSeq[Int],
      attributesOf: IndexedSeq[BitSet],
      name: Int => String
  ): Option[String] = {
    val nodes = tree.preorder
    def stray = nodes.collectFirst {
      case RelationNode(r, _, _) if !attributesOf.indices.contains(r) => s"relation $r is not there"
      case RelationNode(r, attributes, _) if attributes != attributesOf(r) =>
        s"the node of relation $r has other attributes"
      case g: GeneralizedNode if !g.children.forall(c => g.attributes.subsetOf(c.attributes)) =>
        "a generalized node has attributes that a child lacks"
    }
    lazy val pairs = edges(tree)
    def torn = nodes.flatMap(_.attributes).distinct.find { x =>
      nodes.count(_.attributes(x)) - pairs.count { case (p, c) => p.attributes(x) && c.attributes(x) } > 1
    }
    SpecBounds.shape(tree)
      .orElse(stray)
      .orElse(Option.when(tree.relations != relations.sorted)("a relation is missing or stands twice"))
      .orElse(torn.map(x => s"the nodes with ${name(x)} are not connected"))
  }

  private def edges(tree: JoinTree): IndexedSeq[(JoinTree, JoinTree)] =
    tree.preorder.flatMap(parent => parent.children.map(child => (parent, child)))
}
