package io.joinless.engine.update

import io.joinless.engine.view.RelationNode

/** The keys of V_p that a batch empties and fills again: for same-key replacement (algorithms A31).
  *
  * First every deletion of an alive tuple is told (`goes`), then every insertion (`comes`): a key is refilled where all of its
  * alive tuples go and another one comes. In between no view changes. At the end every key told by `goes` is to be forgotten.
  *
  * What is known of a key is a word of the node's `refills`: twice the number of alive tuples that go, plus one where others
  * come. So a question costs one look into an array, as long as the node's keys; a table of the batch's own is slower.
  */
private[update] object RefilledKeys {

  /** The batch deletes an alive tuple of the key. */
  def goes(node: RelationNode, key: Int): Unit = { val _ = node.refills.add(key, 2) }

  /** The batch inserts a tuple under the key: true where the key is refilled. */
  def comes(node: RelationNode, key: Int): Boolean = {
    val word = node.refills(key)
    word != 0 && word >>> 1 == node.vs.count(key) && { node.refills(key) = word | 1; true }
  }

  /** All alive tuples of the key go, and others come; to be asked once all insertions are told. */
  def contains(node: RelationNode, key: Int): Boolean = (node.refills(key) & 1) != 0

  def forget(node: RelationNode, key: Int): Unit = node.refills(key) = 0
}
