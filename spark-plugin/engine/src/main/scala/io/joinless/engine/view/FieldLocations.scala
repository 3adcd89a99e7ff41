package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{JoinTree, RelationNode}
import io.joinless.engine.tuples.KeyReader

/** The locations of projected fields during an enumeration, chosen so that rows need not be read:
  * {{{
  * a key of the tree              at the key, which the enumeration holds
  * few other fields               inlined with the row, in the lists that lead to it
  *                                (tuples.InlinedWords)
  * more other fields              in the row, and so are all projected fields of the relation
  * }}}
  * A ''pointer'' to projected words has a number (`enumerate.WordPointers`): pointer r is to the
  * words inlined with the row of relation r; the pointers behind those are to attributes. Over
  * R(a,b) ⋈ S(b,c) ⋈ T(c,d) with all four columns projected, a is inlined with the rows of R and d
  * with those of T; b and c are read from keys, so nothing of S is read.
  *
  * The rows of a bag are read: no keys and no words are inlined where relations are intersected.
  *
  * An attribute with NULL as a value is not read from keys, since its word does not say that it is
  * NULL.
  */
final private[engine] class FieldLocations(block: BlockDef) {
  import FieldLocations._

  private[this] val relationCount = block.relations.size
  private[this] val edges: IndexedSeq[BitSet] = block.tree.edges.map { case (parent, child) => parent.separator(child) }

  // attributes with a word of their own in some key
  private[this] val keyed: Set[Int] = edges.flatMap(inKeys).toSet

  // the keyed attributes that are projected of a relation whose rows need not be read, as far as
  // there are pointers
  private[this] val attributes: IndexedSeq[Int] = block.relations.indices
    .filter(inlinable(_, keyed).isDefined)
    .flatMap(r => block.relations(r).projected.flatMap(attribute(r, _, keyed)))
    .distinct
    .take(MaxPointers - relationCount)

  // these as a set: the attributes that are read from keys
  private[this] val fromKeys: Set[Int] = attributes.toSet

  /** The number of pointers of an enumeration. */
  val pointers: Int = relationCount + attributes.size

  /** The fields of a relation that are inlined with its rows. */
  def inlined(relation: Int): IndexedSeq[Int] = inlinable(relation, fromKeys).getOrElse(IndexedSeq.empty)

  /** (pointer, offset in words) of a projected field: the pointer is to a key's attribute, or to
    * the words inlined with the row. None if the row must be read, or the field is not projected.
    */
  def find(relation: Int, field: Int): Option[(Int, Int)] =
    inlinable(relation, fromKeys).filter(_ => block.relations(relation).projected.contains(field)).map { fields =>
      attribute(relation, field, fromKeys) match {
        case Some(a) => (relationCount + attributes.indexOf(a), 0)
        case None => (relation, fields.indexOf(field))
      }
    }

  /** Calls `visit` for each attribute of this separator that is read from keys: with the number of
    * its pointer, and the offset of its word in a key.
    */
  def visitKeyWords(separator: BitSet, visit: (Int, Int) => Unit): Unit =
    for (a <- inKeys(separator) if fromKeys(a))
      visit(
        relationCount + attributes.indexOf(a),
        KeyReader.nullWords(block.nullSafe(separator)) + separator.toIndexedSeq.indexOf(a)
      )

  /** The attributes that have a word of their own in such keys. */
  private def inKeys(separator: BitSet): Set[Int] =
    if (separator.exists(block.isVariable)) Set.empty else separator.filterNot(block.attributes(_).nullSafe)

  /** The attribute, one of `among`, whose value a field is. */
  private def attribute(relation: Int, field: Int, among: Set[Int]): Option[Int] =
    block.relations(relation).keys.collectFirst { case (a, f) if f.ordinal == field && among(a) => a }

  /** The projected fields that are none of these attributes; None if they are so many that the row
    * is read.
    */
  private def inlinable(relation: Int, excluded: Set[Int]): Option[IndexedSeq[Int]] = {
    val projected = block.relations(relation).projected
    val fields = projected.filter(attribute(relation, _, excluded).isEmpty)
    if (block.isBag || projected.isEmpty || relationCount == 1 || fields.size > maxInlined(relation)) None
    else Some(fields)
  }

  /** The maximum number of inlined fields. A relation at an end of the tree has its rows in one
    * list, and runs are of such relations; others have their rows in one list per neighbour.
    */
  private def maxInlined(relation: Int): Int = if (FieldLocations.neighbours(block.tree, relation) > 1) 1 else 2
}

private object FieldLocations {
  final val MaxPointers = 64 // sets of pointers are bits of a long

  /** The number of nodes next to a relation's node. */
  def neighbours(tree: JoinTree, relation: Int): Int = {

    /** Whether a node is that of the relation. */
    def isItsNode(node: JoinTree) = node match {
      case RelationNode(r, _, _) => r == relation
      case _ => false
    }
    tree.edges.count { case (parent, child) => isItsNode(parent) || isItsNode(child) }
  }
}
