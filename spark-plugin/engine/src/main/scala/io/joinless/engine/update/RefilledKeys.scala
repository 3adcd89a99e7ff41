package io.joinless.engine.update

import io.joinless.engine.view.RelationViews

/** The keys of V_p that a batch empties and refills: for same-key replacement (algorithms A31).
  *
  * First every deletion of an alive tuple is registered (`noteDeleted`), then every insertion
  * (`noteInserted`). A key is refilled if all of its alive tuples are deleted and another one is
  * inserted. No view changes in between. At the end every key registered by `noteDeleted` must be
  * reset by `forget`.
  *
  * The state of a key is a word of the node's `refills`: twice the number of its deleted alive
  * tuples, plus one if others are inserted. So a query costs one array read. The array is as long
  * as the node's keys; a hash table per batch is slower.
  */
private[update] object RefilledKeys {

  /** Registers that the batch deletes an alive tuple of the key. */
  def noteDeleted(node: RelationViews, key: Int): Unit = { val _ = node.refills.add(key, 2) }

  /** Registers that the batch inserts a tuple under the key; true if the key is refilled. */
  def noteInserted(node: RelationViews, key: Int): Boolean = {
    val word = node.refills(key)
    word != 0 && word >>> 1 == node.vs.count(key) && { node.refills(key) = word | 1; true }
  }

  /** Whether all alive tuples of the key are deleted, and others inserted. Valid after all
    * insertions are registered.
    */
  def contains(node: RelationViews, key: Int): Boolean = (node.refills(key) & 1) != 0

  /** Resets a key at the end of the batch. */
  def forget(node: RelationViews, key: Int): Unit = node.refills(key) = 0
}
