package io.joinless.engine.enumerate

import io.joinless.engine.algebra.Weight
import io.joinless.engine.view.{GeneralizedViews, RelationViews, ViewNode, ViewTree}

/** Computes the multiplicity of a given row in the result, without enumeration: one look-up per
  * relation and per edge (algorithms A28).
  *
  * O(1) for relations of retractable inputs. Rows of append-only inputs have no identity; there,
  * the rows under one key are compared.
  */
final class Membership(tree: ViewTree) {
  require(!tree.block.isBag, "the relations of a bag have no views")

  /** @param rows per relation the words of its row
    * @return the weight of the given combination in the full join; 0 if it is no result
    */
  def weight(rows: IndexedSeq[Array[Long]]): Long = weightFrom(tree.root, 0, rows)

  /** The weight of the rows of `node` and its subtree, given the key towards its parent; 0 if the
    * node's row is not present under this key, or a row below is not. Equal rows of an append-only
    * input have the same keys: one of them is followed, and multiplied by their number.
    */
  private def weightFrom(node: ViewNode, key: Int, rows: IndexedSeq[Array[Long]]): Long = node match {
    case g: GeneralizedViews =>
      val tuple = keyOf(g, rows)
      if (tuple < 0 || !g.isAlive(tuple) || (!g.isRoot && g.key(tuple) != key)) 0L
      else product(g, tuple, 1L, rows)
    case r: RelationViews =>
      val words = rows(r.relation)
      val identity = tree.identity(r.input)
      var count = 0L
      var tuple = -1
      if (identity != null) {
        tuple = identity.find(words, words.length)
        if (tuple >= 0 && r.weight(tuple) > 0 && r.isAlive(tuple) && (r.isRoot || r.key(tuple) == key))
          count = r.weight(tuple)
      } else {
        var olderLeft = r.vs.count(key)
        var slot = r.vs.first(key)
        while (slot != 0) {
          if (r.arena.sameWords(r.vs.tuple(slot), words, 0, words.length)) { count += 1; tuple = r.vs.tuple(slot) }
          olderLeft -= 1
          slot = r.vs.next(slot, olderLeft)
        }
      }
      if (count == 0) 0L else product(r, tuple, count, rows)
  }

  /** The tuple of a generalized node to which the given row of its first relation below belongs; −1
    * if there is none. Whether the rows of the others belong to it is found at their nodes.
    */
  private def keyOf(node: GeneralizedViews, rows: IndexedSeq[Array[Long]]): Int = {
    @scala.annotation.tailrec
    def find(n: ViewNode, level: Int): Int = n.child(0) match {
      case r: RelationViews => r.upReaders(level).find(node.domain, rows(r.relation), 0)
      case g: GeneralizedViews => find(g, level + 1)
    }
    find(node, 0)
  }

  /** `own` times the weights of the subtrees below a tuple, by the rows given for them. */
  private def product(node: ViewNode, tuple: Int, own: Long, rows: IndexedSeq[Array[Long]]): Long = {
    var result = own
    var c = 0
    while (c < node.childCount && result != 0) {
      result = Weight.multiply(result, weightFrom(node.child(c), node.keyTo(c, tuple), rows))
      c += 1
    }
    result
  }
}
