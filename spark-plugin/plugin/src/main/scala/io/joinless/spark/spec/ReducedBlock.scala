package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.algebra.{Counts, ExactSums, Ring}
import io.joinless.engine.query.{BagNode, Reduction}
import io.joinless.engine.reduce.{ComponentDef, ReducedDef}
import io.joinless.engine.tuples.ProjectedField
import io.joinless.engine.view.{BlockDef, Lift}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{BooleanType, DecimalType}

/** A block of which only the number of equal results is requested: how results are counted without
  * enumerating them (algorithms A7).
  *
  * @param shape with a reduction, recorded or just chosen
  */
final case class ReducedBlock(shape: BlockShape, reduction: ReductionSpec) {
  private val vertices = ReducedVertices(shape)

  /** The vertices that a component projects, in the order of its columns. */
  def projected(component: Int): IndexedSeq[Int] =
    ComponentDef.inOrder(reduction.components(component), reduction.projected(component))(vertices.ordinal)

  /** The columns that a component projects: those of a relation at its root. */
  def columns(component: Int): IndexedSeq[ColumnSpec] = {
    val root = ComponentDef.atRoot(reduction.components(component)).head
    projected(component).map(x => column(root, x))
  }

  private def column(relation: Int, vertex: Int): ColumnSpec =
    shape.inputs(shape.relations(relation).input).columns(vertices.ordinal(relation, vertex))

  private lazy val base: BlockDef = RowCodec.blockDef(shape)

  private lazy val components: IndexedSeq[ComponentDef] = reduction.components.indices.map { c =>
    val tree = reduction.components(c)
    ComponentDef(tree, ComponentDef.atRoot(tree).map(r => r -> projected(c).map(field(r, _))).toMap, reduction.once)
  }

  /** The join of the components' projections, as a block of its own: component i is relation i. It is
    * input i, too, unless components of a total share inputs.
    */
  val top: BlockSpec = {
    val inputOf =
      if (reduction.isTotal) ComponentDef.sharedInputs(components, base) else reduction.components.indices
    val inputs = inputOf.distinct.map(i => InputSpec(columns(inputOf.indexOf(i)), InputKind.Changelog))
    val relations = reduction.components.indices.map { c =>
      val keys = projected(c).zipWithIndex.filter(_._1 < shape.attributes.size).map { case (x, i) => KeySpec(x, i) }
      val name = reduction.components(c).relations.map(shape.relations(_).name).mkString(" and ")
      RelationSpec(name, inputOf(c), keys)
    }
    def place(of: ColumnRef): ColumnRef = {
      val vertex = vertices.of(of)
      val together = if (reduction.isTotal) vertices.projected else BitSet(vertex)
      val component = reduction.components.indices.find(c => together.subsetOf(reduction.projected(c))).get
      ColumnRef(component, projected(component).indexOf(vertex))
    }
    BlockSpec(
      BlockShape(
        shape.id,
        inputs,
        shape.attributes,
        relations,
        reduction.top,
        shape.residuals.map(r => r.copy(columns = r.columns.map(place))),
        shape.output.map(place)
      ),
      shape.attributes.map(_ => 1)
    )
  }

  /** The definition from which the engine builds it. */
  def definition: ReducedDef = ReducedDef(
    base,
    components,
    RowCodec.blockDef(top),
    ring,
    shape.relations.indices.map(lift),
    if (reduction.isTotal) vertices.projected else BitSet.empty
  )

  /** Per sum, the number of words of its value; 0 where only the results that have all factors are
    * counted.
    */
  val sumWords: IndexedSeq[Int] = reduction.sums.map { sum =>
    val types = sum.factors.map(columnOf(_).dataType)
    if (types.forall(_ == BooleanType)) 0 else ExactSums.words(types.map(FactorLift.bits).sum)
  }

  private def ring: Ring = if (reduction.sums.isEmpty && reduction.failures.isEmpty) Counts else exactSums

  /** For each sum first the number of results that have all factors, then their sum, if that is
    * requested.
    */
  private lazy val exactSums =
    new ExactSums((sumWords.flatMap(words => 1 +: Seq(words).filter(_ > 0)) ++ reduction.failures.map(_ => 1)).toArray)

  /** The words of an element after those that are emitted: per failure, the number of results of
    * which an argument fails.
    */
  val failures: Range = {
    val emitted = 1 + sumWords.map(1 + _).sum
    emitted until emitted + reduction.failures.size
  }

  private def lift(relation: Int): Option[Lift] = {
    val numbers = sumWords.scanLeft(0)((number, words) => number + (if (words > 0) 2 else 1))
    val factors = for {
      (sum, s) <- (reduction.sums ++ reduction.failures).zipWithIndex
      factor <- sum.factors
      if factor.relation == relation
    } yield {
      val number = if (s < sumWords.size) numbers(s) else numbers.last + s - sumWords.size
      val added = sumWords.lift(s).exists(_ > 0)
      FactorLift.Factor(factor.ordinal, columnOf(factor).dataType, number, if (added) number + 1 else -1)
    }
    Option.when(factors.nonEmpty)(
      new FactorLift(exactSums, factors.toArray, shape.inputs(shape.relations(relation).input).columns.size)
    )
  }

  private def columnOf(c: ColumnRef): ColumnSpec = shape.inputs(shape.relations(c.relation).input).columns(c.ordinal)

  private def field(relation: Int, vertex: Int): ProjectedField = {
    val dataType = column(relation, vertex).dataType
    // the longest value of a wide decimal fits into it
    val dataWords = if (dataType.isInstanceOf[DecimalType]) 2 else 0
    ProjectedField(vertices.ordinal(relation, vertex), !UnsafeRow.isFixedLength(dataType), dataWords)
  }

  /** Different rows of the block can look equal: only totals are emitted, or the projection reads
    * several relations, or not all columns are projected, or only keys are, of rows that are
    * separate where results are enumerated.
    */
  def countsRows: Boolean = reduction.isTotal || reduction.components.indices.exists { c =>
    val relations = reduction.components(c).relations
    val input = shape.inputs(shape.relations(relations.head).input)
    relations.size > 1 || projected(c).size < input.columns.size ||
    !input.retractable && projected(c).forall(_ < shape.attributes.size)
  }
}

object ReducedBlock {

  /** The best way to count a block's results; None where the block is cyclic, and not totals over a
    * cycle of three relations.
    *
    * @param sizes expected rows per relation
    * @param once equal results count once
    */
  def best(shape: BlockShape, sizes: IndexedSeq[Double], once: Boolean): Option[ReducedBlock] = {
    val vertices = ReducedVertices(shape)
    // totals are not of results that pass further conditions
    def isPossible(found: Reduction) = shape.residuals.isEmpty || !found.top.isInstanceOf[BagNode]
    Reduction.best(vertices.graph, vertices.projected, sizes, once).toOption.filter(isPossible).map { found =>
      ReducedBlock(shape, ReductionSpec(found.components.map(_.tree), found.top))
    }
  }
}
