package io.joinless.engine.update

/** Receives the changes of a batch, in the order in which they are applied ([[Reversal]]). */
trait ChangeRecord {

  /** A row of an append-only input was inserted into `relation`. The roles of a row are
    * consecutive.
    */
  def inserted(relation: Int, row: Int): Unit

  /** The count of a retractable input's row in some of its relations (bit set) changes by `change`.
    */
  def changed(roles: Long, row: Int, change: Long): Unit
}
