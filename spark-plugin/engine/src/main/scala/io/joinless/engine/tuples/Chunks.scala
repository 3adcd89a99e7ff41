package io.joinless.engine.tuples

/** The chunks of lists in a pool: where each begins, and which are free.
  *
  * Each chunk of a list holds twice as many tuples (plus one) as the one before, up to 63. It lies
  * in one page behind a header. So a long list is read in memory order, and a list wastes less than
  * it holds. A chunk of class c holds (2 << c) − 1 tuples; the first one of a list is of class
  * `lowest`.
  */
final private[tuples] class Chunks(lowest: Int) {
  import Chunks._

  private[this] val space = new ChunkSpace(Array.tabulate(Classes)(2 << _))

  // lengths at which a list of small chunks is full: from class 0 on 0, 1, 1+3, 1+3+7, …
  private[this] val smallBorders = (lowest until Classes).scanLeft(0)((length, c) => length + (2 << c) - 1)
  private[this] val small = smallBorders.last

  // class of the chunk that begins at a length below `small`; −1 if none begins there
  private[this] val begins = {
    val table = Array.fill(small)(-1)
    for ((border, i) <- smallBorders.init.zipWithIndex) table(border) = lowest + i
    table
  }

  /** Whether a list of this length fills its chunks exactly. */
  def isBorder(length: Int): Boolean =
    if (length < small) begins(length) >= 0 else (length - small) % Largest == 0

  /** Allocates the chunk for tuples from a border on; returns its header. */
  def allocate(border: Int): Int = space.allocate(classAt(border))

  /** Frees the chunk that held the tuples from a border on. */
  def free(header: Int, border: Int): Unit = space.free(header, classAt(border))

  /** The class of the chunk that begins at a border. */
  private def classAt(border: Int): Int = if (border < small) begins(border) else Classes - 1

  def bytes: Long = space.bytes
}

private object Chunks {
  final val Classes = 6
  final val Largest = (1 << Classes) - 1 // tuples
}
