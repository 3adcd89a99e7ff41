package io.joinless.spark.state

/** The blocks of a log that forgets rows, oldest first, and how many entries they have in all. */
final private[spark] case class NeededBlocks(blocks: Vector[NeededBlocks.Block], entries: Long) {
  import NeededBlocks.Block

  def oldest: Option[Block] = blocks.headOption

  /** With one more block behind the others. */
  def :+(block: Block): NeededBlocks = NeededBlocks(blocks :+ block, entries + block.entries)

  def withoutOldest: NeededBlocks = NeededBlocks(blocks.tail, entries - blocks.head.entries)

  def withoutLast: NeededBlocks = NeededBlocks(blocks.init, entries - blocks.last.entries)

  def bytes: Long = NeededBlocks.BytesPerBlock * blocks.size
}

private[spark] object NeededBlocks {

  /** A block of the log.
    *
    * @param first its number, which is its key
    * @param last the last number that it stands for
    * @param until at this watermark none of its entries is needed
    */
  final case class Block(first: Long, last: Long, entries: Int, until: Long)

  val Empty: NeededBlocks = NeededBlocks(Vector.empty, 0L)

  final private val BytesPerBlock = 48L
}
