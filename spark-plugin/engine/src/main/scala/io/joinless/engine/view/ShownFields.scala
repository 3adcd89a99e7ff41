package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{JoinTree, RelationNode => TreeRelation}
import io.joinless.engine.tuples.KeyReader

/** Where the fields that results show are found while results are walked, so that rows need not be read.
  * {{{
  * a key of the tree              at the key, which the walk has at hand
  * others, where they are few     beside the row, in the lists that lead to it (tuples.ShownWords)
  * where others are more          in the row, and so is all that the relation shows
  * }}}
  * A ''place'' is where a walk says that words lie (`enumerate.Places`): place r of relation r is beside its row, the places behind those
  * are of attributes. Over R(a,b) ⋈ S(b,c) ⋈ T(c,d), where all four are shown, a lies beside the rows of R and d beside those of T; b and c
  * are read from keys, so nothing is read of S.
  *
  * An attribute for which NULL is a value is not read from keys, as a word does not say that it is NULL.
  */
final private[engine] class ShownFields(block: BlockDef) {
  import ShownFields._

  private[this] val relations = block.relations.size
  private[this] val edges: IndexedSeq[BitSet] = block.tree.edges.map { case (parent, child) => parent.separator(child) }
  private[this] val keyed: Set[Int] = edges.flatMap(inKeys).toSet

  private[this] val attributes: IndexedSeq[Int] = block.relations.indices
    .filter(others(_, keyed).isDefined)
    .flatMap(r => block.relations(r).shown.flatMap(attribute(r, _, keyed)))
    .distinct
    .take(MostPlaces - relations)

  private[this] val read: Set[Int] = attributes.toSet // from keys

  /** Places of a walk. */
  val places: Int = relations + attributes.size

  /** The fields of a relation that lie beside its rows. */
  def beside(relation: Int): IndexedSeq[Int] = others(relation, read).getOrElse(IndexedSeq.empty)

  /** The place of a field that a relation shows, and how many words behind its start it lies; None where the row is to be read. */
  def find(relation: Int, field: Int): Option[(Int, Int)] =
    others(relation, read).filter(_ => block.relations(relation).shown.contains(field)).map { others =>
      attribute(relation, field, read) match {
        case Some(a) => (relations + attributes.indexOf(a), 0)
        case None => (relation, others.indexOf(field))
      }
    }

  /** Of the keys on these attributes: the places of those that are shown, and the words of a key where they are. */
  def inKeys(separator: BitSet, place: (Int, Int) => Unit): Unit =
    for (a <- inKeys(separator) if read(a))
      place(
        relations + attributes.indexOf(a),
        KeyReader.nullWords(block.nullSafe(separator)) + separator.toIndexedSeq.indexOf(a)
      )

  /** The attributes that have a word of their own in such keys. */
  private def inKeys(separator: BitSet): Set[Int] =
    if (separator.exists(block.isVariable)) Set.empty else separator.filterNot(block.attributes(_).nullSafe)

  private def attribute(relation: Int, field: Int, among: Set[Int]): Option[Int] =
    block.relations(relation).keys.collectFirst { case (a, f) if f.ordinal == field && among(a) => a }

  /** The shown fields that are none of these attributes; None where they are so many that the row is read. */
  private def others(relation: Int, keyed: Set[Int]): Option[IndexedSeq[Int]] = {
    val shown = block.relations(relation).shown
    val others = shown.filter(attribute(relation, _, keyed).isEmpty)
    if (shown.isEmpty || relations == 1 || others.size > most(relation)) None else Some(others)
  }

  /** An end of the tree has its rows in one list, and is where runs are; others have them in one for each neighbour. */
  private def most(relation: Int): Int = if (ShownFields.neighbours(block.tree, relation) > 1) 1 else 2
}

private object ShownFields {
  final val MostPlaces = 64 // sets of them are bits of a long

  def neighbours(tree: JoinTree, relation: Int): Int = {
    def is(node: JoinTree) = node match {
      case TreeRelation(r, _, _) => r == relation
      case _ => false
    }
    tree.edges.count { case (parent, child) => is(parent) || is(child) }
  }
}
