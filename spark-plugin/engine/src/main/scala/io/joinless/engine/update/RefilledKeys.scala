package io.joinless.engine.update

import io.joinless.engine.tuples.{KeyIndex, PagedBytes, PagedInts, TupleArena}

/** The keys of V_p that a batch empties and fills again: for same-key replacement (P18).
  *
  * First every deletion of an alive tuple is told (`goes`), then every insertion under a key that has alive tuples
  * (`comes`): a key is refilled where all of them go and another one comes. Keys are ids of a relation's edge to its parent.
  * Memory and cost: one entry per key from which the batch deletes, one probe per question; nothing of it stays.
  */
final private[update] class RefilledKeys {
  private[this] var index: KeyIndex = null // (relation, key) → dense id, once there is any
  private[this] val going = new PagedInts // id → number of alive tuples that go
  private[this] val refilled = new PagedBytes // id → 1 where others come, too

  /** The batch deletes an alive tuple of the key. */
  def goes(relation: Int, key: Int): Unit = {
    if (index == null) index = new KeyIndex(new TupleArena(1), 1, counted = false)
    val _ = going.add(index.findOrAdd(pair(relation, key)), 1)
  }

  /** The batch inserts a tuple under the key, which has `alive` > 0 alive ones: true where the key is refilled. */
  def comes(relation: Int, key: Int, alive: Int): Boolean = index != null && {
    val id = index.find(pair(relation, key))
    id >= 0 && going(id) == alive && { refilled(id) = 1; true }
  }

  /** All alive tuples of the key go, and others come; to be asked once all insertions are told. */
  def contains(relation: Int, key: Int): Boolean = index != null && {
    val id = index.find(pair(relation, key))
    id >= 0 && refilled(id) == 1
  }

  def clear(): Unit = if (index != null) {
    for (id <- 0 until index.limit) { going(id) = 0; refilled(id) = 0 }
    index = null
  }

  private def pair(relation: Int, key: Int): Long = relation.toLong << 32 | key
}
