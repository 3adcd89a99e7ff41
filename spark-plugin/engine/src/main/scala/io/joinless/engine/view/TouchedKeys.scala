package io.joinless.engine.view

/** A listener of the touched keys of a view tree, for derived state per key.
  *
  * A key of a node is touched whenever a tuple under it becomes alive or dies, or the multiplicity
  * of an alive row under it changes; the root has the one key 0. V_s, the counts of rows and the id
  * of the key are valid during the call: V_s as it is after the touch. Live views may be behind.
  * Touches of one key are consecutive: each begins with the number at which the previous one ended.
  * Rolling back a batch touches keys, too.
  *
  * A tree without a listener pays a comparison with null per tuple that becomes alive or dies.
  */
trait TouchedKeys {

  /** Called after a touch of `key`, an id of the edge from `node` to its parent: the number of its
    * alive tuples changed from `before` to `after`. Equal numbers: the weight of one of them
    * changed.
    */
  def touched(node: Int, key: Int, before: Int, after: Int): Unit
}
