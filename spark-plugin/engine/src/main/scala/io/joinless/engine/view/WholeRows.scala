package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.tuples.{ProjectedField, RowReader}

/** The relations that the tree above reads by their ''whole'' rows: all columns of a row are its
  * key towards the parent, or its projection to the component's columns. Such a row is its own key:
  * it is stored once, and looked up once.
  *
  * {{{
  * SELECT b.src, COUNT(*) FROM a JOIN b ON a.dst = b.src JOIN c ON b.dst = c.src GROUP BY b.src
  *
  * stored: a(dst), b(src, dst), c(src)
  *
  * [src]{a, b · c}     a row of a is a projected row of the component;
  *                     a row of c is the key on which b and c join
  * }}}
  * Below a relation, the rows of the child's input are the keys, and the parent looks up a part of
  * its own rows among them. The projected rows of a component may be the rows of several inputs;
  * these then share one arena and one identity.
  *
  * Not whole: rows below a relation with fields of variable length, and rows with wide decimals,
  * whose data is laid out differently after a projection.
  *
  * @param columns by component, and relation that meets the root of its tree: the projected columns
  * @param arenas by component, the number of the arena of its projected rows, which components may
  *     share
  */
final private[engine] class WholeRows(
    block: BlockDef,
    columns: IndexedSeq[Map[Int, IndexedSeq[ProjectedField]]],
    arenas: IndexedSeq[Int]
) {

  /** Per input, the component whose projected rows are the rows of the input. */
  private[this] val projecting: IndexedSeq[Option[Int]] = block.inputs.indices.map { input =>
    columns.indices.find { c =>
      columns(c).exists { case (r, projected) => block.relations(r).input == input && isWhole(r, projected) }
    }
  }

  /** The component that projects the rows of an input unchanged. */
  def projectedBy(input: Int): Option[Int] = projecting(input)

  /** The relations whose rows are projected rows of the component, under the same ids. */
  def projected(component: Int): Set[Int] = columns(component).collect {
    case (r, projected)
        if projecting(block.relations(r).input).exists(arenas(_) == arenas(component)) && isWhole(r, projected) => r
  }.toSet

  /** Whether a row of the relation is its key on `attributes`, those of an edge to another
    * relation.
    */
  def isKey(relation: Int, attributes: BitSet): Boolean = {
    val fields = EdgeKeys.fields(block, relation, attributes)
    val count = block.inputs(block.relations(relation).input).fields
    count > 0 && fields.forall(!_.variable) && fields.map(_.ordinal).sorted == (0 until count)
  }

  /** A reader that finds the rows of `child`, which are keys on `attributes`, by rows of `parent`.
    */
  def reader(keys: EdgeKeys, parent: Int, child: Int, attributes: BitSet): RowReader = {
    val order = EdgeKeys.fields(block, child, attributes).zip(attributes).sortBy(_._1.ordinal).map(_._2)
    keys.projection(parent, order.map(x => ProjectedField(EdgeKeys.field(block, parent, x).ordinal, variable = false)))
  }

  /** Whether the projected columns are all columns of the relation's input, in their order. */
  private def isWhole(relation: Int, projected: IndexedSeq[ProjectedField]): Boolean = {
    val count = block.inputs(block.relations(relation).input).fields
    count > 0 && projected.map(_.ordinal) == (0 until count) && projected.forall(_.dataWords == 0)
  }
}
