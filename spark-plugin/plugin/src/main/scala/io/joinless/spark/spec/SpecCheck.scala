package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.spark.errors.Mismatch
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Checks that a spec is consistent: every position exists, the tree is a join tree of the
  * relations ([[RecordedTree]]), and each property fits the block.
  */
object SpecCheck {

  /** The problem, as a sentence; None where the spec is consistent. */
  def problem(spec: BlockSpec): Option[(Mismatch, String)] =
    SpecSize.problem(spec).orElse(positions(spec)).map(BlockProperty.contradiction)
      .orElse(joinTree(spec).map(BlockProperty.wrongTree))
      .orElse(BlockProperties.all.iterator.flatMap(of(_, spec)).nextOption())

  private def of[A](property: BlockProperty[A], spec: BlockSpec): Option[(Mismatch, String)] =
    property.problem(spec.shape(property), spec)

  private def positions(spec: BlockSpec): Option[String] = {
    def column(c: ColumnRef) = spec.relations.indices.contains(c.relation) && {
      spec.stored(spec.relations(c.relation)).indices.contains(c.ordinal)
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
    else if (spec.relations.exists(r => r.keys.map(_.attribute) != r.keys.map(_.attribute).sorted))
      Some("the keys of a relation are out of order")
    else if (spec.isBag && (spec.shape.reduction.exists(!_.isTotal) || spec.shape.sample.isDefined))
      Some("its results are counted, and its relations are a bag")
    else keysOfDifferentForm(spec).orElse(lifetimes(spec))
  }

  /** Keys of one attribute are read as words of one form. Positions must exist. */
  private def keysOfDifferentForm(spec: BlockSpec): Option[String] = {
    val forms = for {
      relation <- spec.relations
      key <- relation.keys
    } yield key.attribute -> UnsafeRow.isFixedLength(spec.stored(relation)(key.ordinal).dataType)
    forms.groupMap(_._1)(_._2).collectFirst {
      case (x, kinds) if kinds.distinct.size > 1 => s"the keys of ${spec.attributes(x).name} are of different kinds"
    }
  }

  private def lifetimes(spec: BlockSpec): Option[String] = spec.relations.iterator.flatMap(r =>
    LifetimeSpec.problem(r.lifetime, spec.inputs(r.input), spec.retractable)
  ).nextOption()

  private def joinTree(spec: BlockSpec): Option[String] = RecordedTree.problem(
    spec.tree,
    spec.relations.indices,
    spec.relations.map(r => BitSet.fromSpecific(r.keys.map(_.attribute))),
    x => spec.attributes.lift(x).fold(s"column $x")(_.name)
  )
}
