package io.joinless.engine.tuples

/** Tuples of one node that a batch touches, each once. Memory: a byte per tuple of the node. */
final private[engine] class TouchedTuples {
  private[this] val tuples = new IntStack
  private[this] val noted = new PagedBytes

  def size: Int = tuples.size
  def apply(i: Int): Int = tuples(i)

  /** Adds a tuple, unless the batch has touched it before. */
  def note(tuple: Int): Unit = if (noted(tuple) == 0) {
    noted(tuple) = 1
    tuples.push(tuple)
  }

  def clear(): Unit = while (!tuples.isEmpty) noted(tuples.pop()) = 0
}
