package io.joinless.spark.state.log

/** The blocks of a log of a cell that evicts rows, oldest first, and the number of all their
  * entries.
  */
final private[spark] case class NeededBlocks(blocks: Vector[NeededBlocks.Block], entries: Long) {
  import NeededBlocks.Block

  def oldest: Option[Block] = blocks.headOption

  /** The blocks with one more at the end. */
  def :+(block: Block): NeededBlocks = NeededBlocks(blocks :+ block, entries + block.entries)

  def withoutOldest: NeededBlocks = NeededBlocks(blocks.tail, entries - blocks.head.entries)

  def withoutLast: NeededBlocks = NeededBlocks(blocks.init, entries - blocks.last.entries)

  def bytes: Long = NeededBlocks.BytesPerBlock * blocks.size
}

private[spark] object NeededBlocks {

  /** A block of the log.
    *
    * @param first its number, which is its key
    * @param last the last number of the blocks merged into it
    * @param until at this watermark none of its entries is needed
    */
  final case class Block(first: Long, last: Long, entries: Int, until: Long)

  val Empty: NeededBlocks = NeededBlocks(Vector.empty, 0L)

  /** The blocks of a log.
    *
    * @param blocks in any order
    */
  def of(blocks: Seq[Block]): NeededBlocks = blocks.sortBy(_.first).foldLeft(Empty)(_ :+ _)

  final private val BytesPerBlock = 48L
}
