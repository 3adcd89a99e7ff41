package io.joinless.engine.view

/** Told, while a view tree changes, which of its keys are touched: what keeps something beside each key hangs on here.
  *
  * A key of a node is touched whenever a tuple under it comes alive or dies, or an alive row under it changes how often it is
  * there; the root has the one key 0. V_s, the counts of rows and the id of the key are valid during the call: V_s as it is
  * after the touch. Live views may be behind. Touches of one key follow each other: each begins with what the last one
  * ended with. Taking a batch back touches as well.
  *
  * A tree without a listener pays a comparison with null per tuple that comes alive or dies.
  */
trait TouchedKeys {

  /** Under `key`, an id of the edge from `node` to its parent, there are `after` alive tuples, and were `before`. Equal numbers:
    * the weight of one of them changed.
    */
  def touched(node: Int, key: Int, before: Int, after: Int): Unit
}
