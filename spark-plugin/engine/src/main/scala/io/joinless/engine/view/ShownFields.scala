package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{JoinTree, RelationNode => TreeRelation}
import io.joinless.engine.tuples.KeyReader

/** The locations of projected fields during an enumeration, chosen so that rows need not be read:
  * {{{
  * a key of the tree              at the key, which the enumeration holds
  * few other fields               inlined with the row, in the lists that lead to it
  *                                (tuples.ShownWords)
  * more other fields              in the row, and so are all projected fields of the relation
  * }}}
  * A ''place'' is the number of a pointer to projected words (`enumerate.Places`): place r is that
  * of the words inlined with the row of relation r; the places behind those are of attributes. Over
  * R(a,b) ⋈ S(b,c) ⋈ T(c,d) with all four columns projected, a is inlined with the rows of R and d
  * with those of T; b and c are read from keys, so nothing of S is read.
  *
  * An attribute with NULL as a value is not read from keys, since its word does not say that it is
  * NULL.
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

  /** The number of places of an enumeration. */
  val places: Int = relations + attributes.size

  /** The fields of a relation that are inlined with its rows. */
  def beside(relation: Int): IndexedSeq[Int] = others(relation, read).getOrElse(IndexedSeq.empty)

  /** The place of a projected field and its offset in words; None if the row must be read. */
  def find(relation: Int, field: Int): Option[(Int, Int)] =
    others(relation, read).filter(_ => block.relations(relation).shown.contains(field)).map { others =>
      attribute(relation, field, read) match {
        case Some(a) => (relations + attributes.indexOf(a), 0)
        case None => (relation, others.indexOf(field))
      }
    }

  /** For a key on these attributes: calls `place` with the place of each projected attribute and
    * its word in the key.
    */
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

  /** The projected fields that are none of these attributes; None if they are so many that the row
    * is read.
    */
  private def others(relation: Int, keyed: Set[Int]): Option[IndexedSeq[Int]] = {
    val shown = block.relations(relation).shown
    val others = shown.filter(attribute(relation, _, keyed).isEmpty)
    if (shown.isEmpty || relations == 1 || others.size > most(relation)) None else Some(others)
  }

  /** The maximum number of inlined fields. A relation at an end of the tree has its rows in one
    * list, and runs are of such relations; others have their rows in one list per neighbour.
    */
  private def most(relation: Int): Int = if (ShownFields.neighbours(block.tree, relation) > 1) 1 else 2
}

private object ShownFields {
  final val MostPlaces = 64 // sets of places are bits of a long

  def neighbours(tree: JoinTree, relation: Int): Int = {
    def is(node: JoinTree) = node match {
      case TreeRelation(r, _, _) => r == relation
      case _ => false
    }
    tree.edges.count { case (parent, child) => is(parent) || is(child) }
  }
}
