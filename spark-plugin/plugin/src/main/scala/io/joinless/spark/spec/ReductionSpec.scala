package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{BagNode, JoinTree, RelationNode}
import io.joinless.spark.errors.Mismatch
import io.joinless.spark.spec.JsonFields._
import io.joinless.spark.spec.JsonValues.array
import org.json4s.JsonAST._

/** How a block's results are counted, as it is recorded.
  *
  * @param components existential components, each a tree of relations
  * @param top a tree of the components, whose attributes are their projected vertices
  * @param once equal results count once: only whether there are any is emitted
  * @param sums sums over results besides their number
  * @param failures for each, results that have all of its factors are those of which an argument
  *   fails: there must be none
  */
final case class ReductionSpec(
    components: IndexedSeq[JoinTree],
    top: JoinTree,
    once: Boolean = false,
    sums: IndexedSeq[SumSpec] = IndexedSeq.empty,
    failures: IndexedSeq[SumSpec] = IndexedSeq.empty
) {

  /** Only totals are maintained, through a cycle of three components: in all, or per one or two of
    * its attributes.
    */
  def isTotal: Boolean = top.isInstanceOf[BagNode]

  /** The vertices that a component projects. */
  def projected(component: Int): BitSet = top.preorder.collectFirst {
    case RelationNode(`component`, attributes, _) => attributes
  }.get
}

/** A sum over results of the product of some stored columns; results with a NULL factor do not
  * count.
  */
final case class SumSpec(factors: IndexedSeq[ColumnRef])

/** How equal results are counted without enumerating them; None where they are enumerated. Its
  * trees go on as recorded.
  */
object ReductionSpec extends BlockProperty[Option[ReductionSpec]]("reduction", default = None) {

  override def write(reduction: Option[ReductionSpec]): Option[JValue] = reduction.map { reduction =>
    JObject(
      List(
        "components" -> array(reduction.components)(RecordedTree.write),
        "top" -> RecordedTree.write(reduction.top),
        "once" -> JBool(reduction.once)
      ) ++ sums("sums", reduction.sums) ++ sums("failures", reduction.failures)
    )
  }

  private def sums(name: String, sums: IndexedSeq[SumSpec]): Option[JField] =
    Option.when(sums.nonEmpty)(name -> array(sums)(sum => array(sum.factors)(JsonValues.column)))

  override def read(json: Option[JValue]): Option[ReductionSpec] = json.map { found =>
    ReductionSpec(
      list(found, "components").map(RecordedTree.read),
      RecordedTree.read(at(found, "top")),
      boolean(at(found, "once")),
      sums(found, "sums"),
      sums(found, "failures")
    )
  }

  private def sums(json: JValue, field: String): IndexedSeq[SumSpec] =
    optional(json, field).fold(IndexedSeq.empty[SumSpec])(_ =>
      list(json, field).map {
        case JArray(factors) => SumSpec(factors.toIndexedSeq.map(column))
        case other => throw new IllegalArgumentException(s"${excerpt(other)} is no list of factors")
      }
    )

  override def problem(reduction: Option[ReductionSpec], block: BlockCore): Option[(Mismatch, String)] =
    reduction.flatMap { reduction =>
      if (!block.inputs.forall(_.retractable))
        Some(BlockProperty.contradiction("its results are counted, and its rows are not"))
      else wrongTrees(reduction, block).map(BlockProperty.wrongTree)
    }

  /** Why the reduction is none of the block's: its trees or sums do not fit. A clause; None if they
    * fit.
    */
  private def wrongTrees(reduction: ReductionSpec, block: BlockCore): Option[String] = {
    val vertices = ReducedVertices(block)
    val graph = vertices.graph
    def name(x: Int) = block.attributes.lift(x).fold(s"column $x")(_.name)
    val components = reduction.components.indices
    val tops = reduction.top.preorder.collect { case RelationNode(c, attributes, _) => c -> attributes }
    val trees = reduction.components :+ reduction.top
    val bag = reduction.components.find(_.isInstanceOf[BagNode]).map(_ => "a component is a bag")
    val malformed = bag.orElse(trees.flatMap(RecordedTree.malformed(_)).headOption)
    val factors = reduction.sums ++ reduction.failures
    if (malformed.isDefined) malformed
    else if (!factors.forall(isProduct(_, block)))
      Some("a sum is of columns that are not there, or that are no numbers")
    else if (factors.nonEmpty && reduction.once) Some("results that count once are added up")
    else if (reduction.components.flatMap(_.relations).sorted != graph.edges.indices)
      Some("its components do not have each relation once")
    else if (tops.map(_._1).sorted != components) Some("the tree of components does not have each once")
    else if (reduction.isTotal && !areTotals(reduction, block))
      Some("a bag of components has totals over a cycle of three, per at most two of its attributes")
    else {
      val projected = components.map(reduction.projected)
      val trees = components.flatMap(c =>
        RecordedTree.problem(reduction.components(c), reduction.components(c).relations, graph.edges, name)
      )
      val hidden = vertices.projected.exists(x => !projected.exists(_(x)))
      val attributes = components.map(c => graph.attributesOf(BitSet.fromSpecific(reduction.components(c).relations)))
      val apart = components.exists(a =>
        components.exists(b => a < b && !(attributes(a) & attributes(b)).subsetOf(projected(a) & projected(b)))
      )
      trees.headOption.orElse(RecordedTree.problem(reduction.top, components, projected, name))
        .orElse(Option.when(hidden)("its components do not project what its results do"))
        .orElse(Option.when(components.exists(c => !projected(c).subsetOf(reduction.components(c).attributes)))(
          "the root of a component lacks what that projects"
        ))
        .orElse(Option.when(apart)("components have more in common than they project"))
    }
  }

  /** Whether three components share one vertex with each other, and no others, and at most two of
    * these are projected.
    */
  private def areTotals(reduction: ReductionSpec, block: BlockCore): Boolean = {
    val projected = reduction.components.indices.map(reduction.projected)
    val keys = ReducedVertices(block).projected
    projected.size == 3 && projected.forall(_.size == 2) && projected.distinct.size == 3 &&
    reduction.top.attributes.size == 3 && keys.size <= 2 && keys.subsetOf(reduction.top.attributes) &&
    block.residuals.isEmpty && !reduction.once
  }

  /** Whether the factors of a sum are stored numbers. */
  private def isProduct(sum: SumSpec, block: BlockCore): Boolean =
    sum.factors.nonEmpty && sum.factors.forall { c =>
      block.relations.lift(c.relation).flatMap(block.stored(_).lift(c.ordinal))
        .exists(column => FactorLift.takes(column.dataType))
    }

  override def compared: Compared = Compared.AfterRelations

  override def difference(
      was: Option[ReductionSpec],
      is: Option[ReductionSpec],
      recorded: BlockCore,
      planned: BlockCore
  ): Option[(Mismatch, String)] =
    Option.when(was.map(emitted) != is.map(emitted)) {
      val (before, now) = (done(was), done(is))
      Mismatch.Query -> (
        if (before == now)
          s"Over the join of ${recorded.names} it adds up ${sums(was, recorded, planned)}, and the query ${sums(is, planned, planned)}."
        else s"Results of the join of ${recorded.names} are $before in it, and would be $now for the query."
      )
    }

  /** The emitted part of results: whether there are any, or their number, and their sums. */
  private def emitted(reduction: ReductionSpec) = (reduction.once, reduction.sums, reduction.failures)

  private def done(reduction: Option[ReductionSpec]): String = reduction.fold("enumerated") { r =>
    if (r.once) "counted once each" else if (r.sums.isEmpty) "counted" else "added up"
  }

  private def sums(reduction: Option[ReductionSpec], block: BlockCore, aliases: BlockCore): String = {
    val all = reduction.toSeq.flatMap(_.sums).map(_.factors.map(block.nameOf(_, aliases)).mkString(" times "))
    if (all.isEmpty) "nothing" else all.mkString(", ")
  }

  override def goesOn: Boolean = true
}
