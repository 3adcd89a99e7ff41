package io.joinless.engine.positions

/** Results that were found by their positions, in ascending order of these.
  *
  * @param size how many
  * @param nodes of the tree
  */
final class Located private[positions] (val size: Int, nodes: Int) {
  private[this] val tuples = new Array[Int](Math.multiplyExact(size, nodes))
  private[this] val copies = new Array[Long](Math.multiplyExact(size, nodes))

  /** Copies the row ids of result `i` to `into`, by relation. */
  def readRows(i: Int, into: Array[Int]): Unit = System.arraycopy(tuples, i * nodes, into, 0, into.length)

  /** Which copy of the relation's row, from 0 up to below its multiplicity. */
  def copy(i: Int, relation: Int): Long = copies(i * nodes + relation)

  /** Binds the tuple of a node in result `i`; for a relation, the row's id. */
  private[positions] def set(i: Int, node: Int, tuple: Int): Unit = tuples(i * nodes + node) = tuple

  /** Sets which copy of a relation's row result `i` contains. */
  private[positions] def setCopy(i: Int, node: Int, copy: Long): Unit = copies(i * nodes + node) = copy
}
