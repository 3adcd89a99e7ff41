package io.joinless.engine.enumerate

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.{GeneralizedNode, RelationNode, ViewNode, ViewTree}

/** How often a given row is in the result, without enumerating: one look-up per relation and per edge (algorithms A28).
  *
  * O(1) for relations of retractable inputs; for append-only inputs, whose rows have no identity, the rows under one key
  * are compared.
  */
final class Membership(tree: ViewTree) {
  private[this] val relations = tree.block.relations.size

  /** @param rows per relation the words of its row
    * @return the weight of that row of the full join, 0 where it is no result
    */
  def weight(rows: IndexedSeq[Array[Long]]): Long = {
    // the given rows lie in the arenas while we look, so that key readers can read them
    val probes = new Array[Int](relations)
    for (r <- 0 until relations) probes(r) = arena(r).append(rows(r), 0, rows(r).length)
    try below(tree.root, 0, rows, probes)
    finally for (r <- relations - 1 to 0 by -1) arena(r).free(probes(r))
  }

  private def arena(relation: Int): TupleArena = tree.relation(relation).arena

  /** Product over the subtree of `node`, given the key towards its parent. */
  private def below(node: ViewNode, key: Int, rows: IndexedSeq[Array[Long]], probes: Array[Int]): Long = node match {
    case g: GeneralizedNode =>
      val tuple = tree.keyOf(g, probes)
      if (tuple < 0 || !g.isAlive(tuple) || (!g.isRoot && g.key(tuple) != key)) 0L
      else product(g, _ => tuple, 1L, rows, probes)
    case r: RelationNode =>
      val words = rows(r.id)
      val identity = tree.identity(r.input)
      var count = 0L
      var tuple = -1
      if (identity != null) {
        tuple = identity.find(words, words.length)
        if (tuple >= 0 && r.weight(tuple) > 0 && r.isAlive(tuple) && (r.isRoot || r.key(tuple) == key))
          count = r.weight(tuple)
      } else {
        var slot = r.vs.first(key)
        while (slot != 0) {
          if (r.arena.sameWords(r.vs.tuple(slot), words, 0, words.length)) { count += 1; tuple = r.vs.tuple(slot) }
          slot = r.vs.next(slot)
        }
      }
      if (count == 0) 0L else product(r, c => r.down(c)(tuple), count, rows, probes)
  }

  private def product(
      node: ViewNode,
      keyOf: Int => Int,
      own: Long,
      rows: IndexedSeq[Array[Long]],
      probes: Array[Int]
  ): Long = {
    var result = own
    var c = 0
    while (c < node.childCount && result != 0) {
      result = Weight.multiply(result, below(node.child(c), keyOf(c), rows, probes))
      c += 1
    }
    result
  }
}
