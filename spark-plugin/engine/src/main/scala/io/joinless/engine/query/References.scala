package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** The references between relations on which the cost of a join tree relies, where keys are
  * declared (algorithms A64).
  *
  * A change of V_p of a child walks the tuples of its parent with that key. If the separator has
  * a key of the parent, there is one at most. If it has a key of the child, the child's rows are
  * what the parent's rows ''refer'' to. Where at the end of each batch every row has the rows to
  * which it refers, a batch that changes whether a key is in V_p changes all rows that refer to
  * it. So a walk over these is charged to their own changes, whatever the order within the batch.
  * {{{
  * orders(id, shop) · shops(shop, city) · cities(city, country)     keys: shop, city
  *
  * references   orders to shops, shops to cities: O(1) amortised per change if they hold
  * }}}
  * Below a reference all edges must be references: else a row to which others refer would come and
  * go with rows that are not referred to, and all that refer to it would be walked.
  */
object References {

  /** The references that must hold for O(1) amortised steps per change, as pairs of a relation and
    * the one to which its rows refer; none, if that is so without. None if keys do not bound the
    * cost.
    *
    * @param keys per relation, the sets of its attributes by each of which its rows are unique
    */
  def of(tree: JoinTree, keys: IndexedSeq[Seq[BitSet]]): Option[Seq[(Int, Int)]] = {

    /** Whether a node has one tuple at most for each key of these attributes. */
    def isUnique(node: JoinTree, by: BitSet): Boolean = node match {
      case RelationNode(r, _, _) => keys(r).exists(_.subsetOf(by))
      case _ => node.attributes.subsetOf(by)
    }

    /** The references of a node's edges and of those below. */
    def at(node: JoinTree): Option[Seq[(Int, Int)]] = all(node.children.map { child =>
      if (isUnique(node, node.separator(child))) at(child) else referred(node, child)
    })

    /** The reference of this edge, and of all below it; None if one of them is none. */
    def referred(node: JoinTree, child: JoinTree): Option[Seq[(Int, Int)]] = (node, child) match {
      case (RelationNode(from, _, _), RelationNode(to, _, _)) if isUnique(child, node.separator(child)) =>
        all(child.children.map(referred(child, _))).map((from -> to) +: _)
      case _ => None
    }
    if (tree.isInstanceOf[BagNode]) None else at(tree)
  }

  private def all(found: Seq[Option[Seq[(Int, Int)]]]): Option[Seq[(Int, Int)]] =
    Option.when(found.forall(_.isDefined))(found.flatten.flatten)
}
