package io.joinless.engine.reduce

import scala.collection.immutable.BitSet

import io.joinless.engine.tuples.{ProjectedField, RowReader}
import io.joinless.engine.view.EdgeKeys

/** Which relations are known above by their ''whole'' rows: all columns of a row are its key towards the parent, or what the component
  * shows of it. Such a row is its own key: it lies once, and is looked up once.
  *
  * {{{
  * SELECT b.src, COUNT(*) FROM a JOIN b ON a.dst = b.src JOIN c ON b.dst = c.src GROUP BY b.src     stored: a(dst), b(src, dst), c(src)
  *
  * [src]{a, b · c}     a row of a is what the component shows; a row of c is the key on which b and c meet
  * }}}
  * Below a relation, the rows of the child's input are the keys, and the parent looks up a part of its rows among them. What a component shows
  * may be the rows of several inputs: then these share one arena, and one identity.
  *
  * Not whole: rows with fields of variable length below a relation, and those of wide decimals, whose places differ where they are
  * projected.
  */
final private class WholeRows(definition: ReducedDef) {
  private[this] val block = definition.block

  /** Per input, the component of which its rows are what is shown. */
  private[this] val showing: IndexedSeq[Option[Int]] = block.inputs.indices.map { input =>
    definition.components.indices.find { c =>
      definition.components(c).shown.exists { case (r, shown) =>
        block.relations(r).input == input && isWhole(r, shown)
      }
    }
  }

  /** The component that shows the rows of an input just as they are. */
  def shownBy(input: Int): Option[Int] = showing(input)

  /** A row of the relation is what the component shows of it, under the same id. */
  def isShown(component: Int, relation: Int): Boolean =
    showing(block.relations(relation).input).contains(component) &&
      definition.components(component).shown.get(relation).exists(isWhole(relation, _))

  /** A row of the relation is its key on `attributes`, which are those of an edge to another relation. */
  def isKey(relation: Int, attributes: BitSet): Boolean = {
    val fields = EdgeKeys.fields(block, relation, attributes)
    val all = block.inputs(block.relations(relation).input).fields
    all > 0 && fields.forall(!_.variable) && fields.map(_.ordinal).sorted == (0 until all)
  }

  /** Finds the rows of `child`, which are keys on `attributes`, by rows of `parent`. */
  def reader(keys: EdgeKeys, parent: Int, child: Int, attributes: BitSet): RowReader = {
    val order = EdgeKeys.fields(block, child, attributes).zip(attributes).sortBy(_._1.ordinal).map(_._2)
    keys.projection(parent, order.map(x => ProjectedField(EdgeKeys.field(block, parent, x).ordinal, variable = false)))
  }

  private def isWhole(relation: Int, shown: IndexedSeq[ProjectedField]): Boolean = {
    val all = block.inputs(block.relations(relation).input).fields
    all > 0 && shown.map(_.ordinal) == (0 until all) && shown.forall(_.dataWords == 0)
  }
}
