package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.algebra.Counts
import io.joinless.engine.query.{Hypergraph, JoinTree, Reduction, RelationNode}
import io.joinless.engine.reduce.{ComponentDef, ReducedDef}
import io.joinless.engine.tuples.ProjectedField
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.DecimalType

/** A block of which only the number of equal results is asked: how it is counted without its results (algorithms A7).
  *
  * Vertices are the block's attributes and, behind them, the columns that results or conditions show and that are no keys.
  *
  * @param shape with a reduction, recorded or just chosen
  */
final case class ReducedBlock(shape: BlockShape, reduction: ReductionSpec) {
  private val vertices = ReducedBlock.Vertices(shape)

  /** What a component shows, in the order of its columns. */
  def shown(component: Int): IndexedSeq[Int] = reduction.shown(component).toIndexedSeq

  /** The columns that are shown, by component: of a relation that meets its root. */
  def columns(component: Int): IndexedSeq[ColumnSpec] = {
    val root = ComponentDef.atRoot(reduction.components(component)).head
    shown(component).map(x => column(root, x))
  }

  private def column(relation: Int, vertex: Int): ColumnSpec =
    shape.inputs(shape.relations(relation).input).columns(vertices.ordinal(relation, vertex))

  /** The join of what the components show, as a block of its own: component i is relation i and input i. */
  val top: BlockSpec = {
    val inputs = reduction.components.indices.map(c => InputSpec(columns(c), InputKind.Changelog))
    val relations = reduction.components.indices.map { c =>
      val keys = shown(c).zipWithIndex.filter(_._1 < shape.attributes.size).map { case (x, i) => KeySpec(x, i) }
      RelationSpec(reduction.components(c).relations.map(shape.relations(_).name).mkString(" and "), c, keys)
    }
    def place(of: ColumnRef): ColumnRef = {
      val vertex = vertices.of(of)
      val component = reduction.components.indices.find(reduction.shown(_)(vertex)).get
      ColumnRef(component, shown(component).indexOf(vertex))
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

  /** What the engine builds it from. */
  def definition: ReducedDef = ReducedDef(
    RowCodec.blockDef(BlockSpec(shape, shape.attributes.map(_ => 1))),
    reduction.components.indices.map { c =>
      val tree = reduction.components(c)
      ComponentDef(tree, ComponentDef.atRoot(tree).map(r => r -> shown(c).map(field(r, _))).toMap, reduction.once)
    },
    RowCodec.blockDef(top),
    Counts,
    shape.relations.map(_ => None)
  )

  private def field(relation: Int, vertex: Int): ProjectedField = {
    val dataType = column(relation, vertex).dataType
    // a wide decimal has place for the longest one
    val dataWords = if (dataType.isInstanceOf[DecimalType]) 2 else 0
    ProjectedField(vertices.ordinal(relation, vertex), !UnsafeRow.isFixedLength(dataType), dataWords)
  }

  /** Some rows of the block are not told from others: several relations stand behind what is shown, or not all columns are shown, or
    * nothing but keys, of rows that are separate where results are enumerated.
    */
  def countsRows: Boolean = reduction.components.indices.exists { c =>
    val relations = reduction.components(c).relations
    val input = shape.inputs(shape.relations(relations.head).input)
    relations.size > 1 || shown(c).size < input.columns.size ||
    !input.retractable && shown(c).forall(_ < shape.attributes.size)
  }
}

object ReducedBlock {

  /** The best way to count a block's results; None where the block is cyclic.
    *
    * @param sizes expected rows per relation
    */
  def best(shape: BlockShape, sizes: IndexedSeq[Double]): Option[ReducedBlock] = {
    val vertices = Vertices(shape)
    Reduction.best(vertices.graph, vertices.shown, sizes).toOption.map { found =>
      ReducedBlock(shape, ReductionSpec(found.components.map(_.tree), found.top))
    }
  }

  /** @param columns shown ones that are no keys */
  final case class Vertices(shape: BlockShape) {
    private val refs = (shape.output ++ shape.residuals.flatMap(_.columns)).distinct
    private val columns = refs.filter(c => key(c).isEmpty)

    private def key(c: ColumnRef): Option[Int] =
      shape.relations(c.relation).keys.collectFirst { case k if k.ordinal == c.ordinal => k.attribute }

    def of(c: ColumnRef): Int = key(c).getOrElse(shape.attributes.size + columns.indexOf(c))

    /** Where a relation has a vertex. */
    def ordinal(relation: Int, vertex: Int): Int =
      if (vertex >= shape.attributes.size) columns(vertex - shape.attributes.size).ordinal
      else shape.relations(relation).keys.find(_.attribute == vertex).get.ordinal

    def shown: BitSet = BitSet.fromSpecific(refs.map(of))

    def graph: Hypergraph = Hypergraph(shape.relations.indices.map { r =>
      BitSet.fromSpecific(
        shape.relations(r).keys.map(_.attribute) ++ columns.filter(_.relation == r).map(of)
      )
    })
  }
}

/** How a block's results are counted, as it is recorded.
  *
  * @param components existential components, each a tree of relations
  * @param top a tree of the components, whose attributes are what they show
  * @param once equal results count once: only whether there are any is told
  */
final case class ReductionSpec(components: IndexedSeq[JoinTree], top: JoinTree, once: Boolean = false) {

  /** The vertices that a component shows. */
  def shown(component: Int): BitSet = top.preorder.collectFirst {
    case RelationNode(`component`, attributes, _) => attributes
  }.get
}
