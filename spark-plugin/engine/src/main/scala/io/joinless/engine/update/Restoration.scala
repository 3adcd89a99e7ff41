package io.joinless.engine.update

import io.joinless.engine.tuples.KeyIndex
import io.joinless.engine.view.{RowStore, ViewTree}

/** Fills an empty state with rows and their counts from a log, in any order. Nothing is enumerated.
  *
  * Rows of append-only inputs are loaded at once, the last few of them by `finish`. Rows of
  * retractable inputs are first collected: `find` a row, then `set` its count for some relations. A
  * count may be set several times; the last one counts. `finish` loads the rows that are present
  * and frees those whose counts are all 0. Cost: one probe per `find`, then that of inserting each
  * row once.
  *
  * @param loading inserts the rows
  * @param group prefetch group of rows to be inserted, the last of them by `finish`
  */
final class Restoration private[engine] (store: RowStore, loading: Restoration.Loading, group: PrefetchedRows) {

  def this(tree: ViewTree) = this(tree, new Restoration.TreeLoading(tree), new PrefetchedRows(tree))

  private[engine] def this(tree: ViewTree, near: Int) =
    this(tree, new Restoration.TreeLoading(tree), new PrefetchedRows(tree, near))

  /** Loads a row of an append-only input, which lies in its arena, into the relations `roles` (bit
    * set).
    */
  def load(roles: Long, row: Int): Unit = add(roles, row)

  /** Adds a row to the prefetch group, to be inserted into the relations `roles` (bit set). */
  private def add(roles: Long, row: Int): Unit = {
    group.add(roles, row)
    if (group.isFull) insertGroup()
  }

  /** Inserts the rows of the prefetch group, each with its count: 1 in an append-only input. */
  private def insertGroup(): Unit = group.drain { (relation, row) =>
    val counts = store.multiplicities(relation)
    loading.insert(relation, row, if (counts == null) 1L else counts(row))
  }

  /** The id of a row of a retractable input. Ids are dense and valid until `finish`. */
  def find(input: Int, words: Array[Long], count: Int): Int = {
    val identity = store.identity(input)
    val known = identity.size
    val row = identity.findOrAdd(words, count)
    if (identity.size > known) identity.retain(row)
    row
  }

  /** Sets the count of a row that was found, in the relations `roles` (bit set). */
  def set(roles: Long, row: Int, count: Long): Unit = {
    var rolesLeft = roles
    while (rolesLeft != 0L) {
      store.multiplicities(java.lang.Long.numberOfTrailingZeros(rolesLeft))(row) = count
      rolesLeft &= rolesLeft - 1
    }
  }

  /** Loads the rows of retractable inputs. Until now each has one reference, from `find`; it gives
    * way to one for each relation in which the count is not 0.
    */
  def finish(): Unit = {
    val inputs = store.block.inputs.indices.filter(store.identity(_) != null)
    // inputs can share one identity
    for ((identity, sharing) <- inputs.groupBy(store.identity)) {
      val relations = sharing.flatMap(store.block.relationsOf(_)).toArray
      eachRow(identity) { row =>
        for (r <- relations) if (store.multiplicity(r, row) != 0) identity.retain(row)
        val _ = identity.release(row)
      }
    }
    for (input <- inputs) {
      val relations = store.block.relationsOf(input)
      eachRow(store.identity(input)) { row =>
        val roles = relations.foldLeft(0L)((bits, r) => if (store.multiplicity(r, row) > 0) bits | 1L << r else bits)
        if (roles != 0L) add(roles, row)
      }
    }
    insertGroup()
    loading.end()
  }

  /** Calls `f` with each id up to the largest, also those of freed rows, whose counts are 0. */
  private def eachRow(identity: KeyIndex)(f: Int => Unit): Unit = {
    val limit = identity.limit
    var row = 0
    while (row < limit) { f(row); row += 1 }
  }
}

object Restoration {

  /** How rows are inserted into a state. */
  private[engine] trait Loading {

    /** Inserts a row, which lies in its arena, into a relation with a multiplicity. */
    def insert(relation: Int, row: Int, count: Long): Unit

    /** Called once all rows are inserted. */
    def end(): Unit
  }

  /** Inserts rows into a view tree, and brings its annotations up to date at the end. */
  final private class TreeLoading(tree: ViewTree) extends Loading {
    private[this] val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
    private[this] val annotations = if (tree.aggregates.isEmpty) null else new TreeAnnotations(tree)

    override def insert(relation: Int, row: Int, count: Long): Unit = {
      delta.load(relation, row, count)
      if (annotations != null) annotations.change(relation, row, 0L, count)
    }

    override def end(): Unit = if (annotations != null) {
      annotations.update()
      annotations.finish()
    }
  }
}
