package io.joinless.engine.positions

import io.joinless.engine.tuples.{KeyIndex, TupleArena, Words}
import io.joinless.engine.view.{GeneralizedViews, RelationViews, ViewNode}

/** The canonical order of the tuples of a node: by a hash of their words, ties by the words
  * themselves.
  *
  * A list lies in memory as the history of its key has left it, so a live tree, a rebuilt one and
  * one that was rolled back have it in different orders. The canonical order depends on the content
  * alone. Equal rows of an append-only input are equal in it, too.
  */
final private[positions] class TupleOrder(node: ViewNode) {
  private[this] val arena: TupleArena = node match {
    case r: RelationViews => r.arena
    case _ => null
  }
  private[this] val domain: KeyIndex = node match {
    case g: GeneralizedViews => g.domain
    case _ => null
  }

  /** The hash of a tuple's words; tuples are compared by it as unsigned numbers. */
  def hash(tuple: Int): Long =
    if (arena != null) Words.hash(arena.page(tuple), arena.start(tuple), arena.words(tuple))
    else Words.hash(domain.page(tuple), domain.start(tuple), domain.words(tuple))

  /** Compares tuples with equal hashes. */
  def compare(a: Int, b: Int): Int =
    if (arena != null)
      Words.compare(arena.page(a), arena.start(a), arena.words(a), arena.page(b), arena.start(b), arena.words(b))
    else Words.compare(
      domain.page(a),
      domain.start(a),
      domain.words(a),
      domain.page(b),
      domain.start(b),
      domain.words(b)
    )
}
