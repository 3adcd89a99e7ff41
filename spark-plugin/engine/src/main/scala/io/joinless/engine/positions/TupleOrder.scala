package io.joinless.engine.positions

import io.joinless.engine.tuples.{KeyIndex, RecordLists, TupleArena, Words}
import io.joinless.engine.view.{GeneralizedViews, RelationViews, ViewNode}

/** The canonical order of the tuples of a node: by a hash of their words, ties by the words
  * themselves.
  *
  * A list lies in memory as the history of its key has left it, so a live tree, a rebuilt one and
  * one that was rolled back have it in different orders. The canonical order depends on the content
  * alone. Equal rows of an append-only input are equal in it, too.
  *
  * Rows of fixed length are hashed without the fields of their key to the parent, which are equal
  * in all rows of a list. The words of the others are often inlined with the rows in the list; then
  * no row is read.
  */
final private[engine] class TupleOrder(node: ViewNode) {
  private[this] val arena: TupleArena = node match {
    case r: RelationViews => r.arena
    case _ => null
  }
  private[this] val domain: KeyIndex = node match {
    case g: GeneralizedViews => g.domain
    case _ => null
  }

  /** The offsets of the hashed words in a row; null for all words. */
  private[this] val inRow: Array[Int] = node match {
    case r: RelationViews => r.ownWords
    case _ => null
  }

  /** Their offsets in a record of a list; null if they are not all inlined. */
  private[this] val inRecord: Array[Int] = node match {
    case r: RelationViews if inRow != null && r.words != null && inRow.forall(r.words.indexOf(_) >= 0) =>
      inRow.map(1 + r.words.indexOf(_))
    case _ => null
  }

  /** The hash of a tuple's words; tuples are compared by it as unsigned numbers. */
  def hash(tuple: Int): Long =
    if (inRow != null) Words.hash(arena.page(tuple), arena.start(tuple), inRow)
    else if (arena != null) Words.hash(arena.page(tuple), arena.start(tuple), arena.words(tuple))
    else Words.hash(domain.page(tuple), domain.start(tuple), domain.words(tuple))

  /** The same of a tuple whose record in a list of the node's V_s begins at `page(at)`. */
  def hash(page: Array[Long], at: Int): Long =
    if (inRecord != null) Words.hash(page, at, inRecord) else hash(RecordLists.tuple(page(at)))

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
