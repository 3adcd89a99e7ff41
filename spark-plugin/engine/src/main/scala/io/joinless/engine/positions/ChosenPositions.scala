package io.joinless.engine.positions

import io.joinless.engine.algebra.Wide

/** Positions whose results are read, chunk by chunk. */
trait ChosenPositions {

  /** The next chunk, in ascending order; an empty one after the last. It is valid until the next
    * call.
    */
  private[engine] def next(): PositionList
}

object ChosenPositions {

  /** The most positions of a chunk, where nothing else is said. */
  final val Chunk = 1 << 16

  /** The positions from `from` to below `until`, in ascending order. The chunks grow: whoever reads
    * few results pays for few.
    */
  def range(from: BigInt, until: BigInt): ChosenPositions = new ChosenPositions {
    private[this] val position = Wide(from)
    private[this] val end = Wide(until)
    private[this] val chunk = new PositionList
    private[this] var size = FirstChunk

    override private[engine] def next(): PositionList = {
      chunk.clear()
      while (chunk.size < size && position.compare(end) < 0) {
        chunk.add(position)
        position.add(0L, 1L)
      }
      size = math.min(Chunk, size * Growth)
      chunk
    }
  }

  final private val FirstChunk = 1 << 10
  final private val Growth = 8
}
