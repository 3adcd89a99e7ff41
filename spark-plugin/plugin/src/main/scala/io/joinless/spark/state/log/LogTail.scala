package io.joinless.spark.state.log

/** The last blocks of a log, last first: those that may still be merged into one.
  *
  * Tiny batches would leave a block each, with its key, its header and its object in the store. So
  * the blocks before the last block of a batch are merged into it, one after the other, while each
  * has less than twice the bytes that the last block has by then and all are small enough together
  * (the logarithmic method). A block therefore grows by at least half whenever its entries are
  * copied: an entry is copied at most log,,1.5,,(largest / smallest block) times, whatever the
  * batches. And at the end of a batch any two neighbours would not fit into one block, or the later
  * one has at most half the bytes of the other.
  */
final case class LogTail(blocks: List[LogTail.Block]) {
  import LogTail.Block

  /** The tail with one more block at the end, without blocks that can never be merged with a later
    * one.
    */
  def append(block: Block, capacity: Int): LogTail = LogTail.of(Iterator(block) ++ blocks, capacity)

  /** The block that is merged next into one with `bytes` of entries. */
  def mergedInto(bytes: Int, capacity: Int): Option[Block] =
    blocks.headOption.filter(b => b.bytes < 2L * bytes && b.bytes + bytes <= capacity)

  def withoutLast: LogTail = LogTail(blocks.tail)

  /** The tail without the blocks before number `oldest`. */
  def from(oldest: Long): LogTail = LogTail(blocks.filter(_.first >= oldest))
}

object LogTail {

  /** A block of a log.
    *
    * @param first its number, which is its key
    * @param last the last number of the blocks merged into it
    * @param bytes of its entries
    */
  final case class Block(first: Long, last: Long, bytes: Int)

  val Empty: LogTail = LogTail(Nil)

  /** The tail of a log: as many of its last blocks as one merged block could hold.
    *
    * @param blocks last first
    * @param capacity bytes of entries that a merged block has at most
    */
  def of(blocks: Iterator[Block], capacity: Int): LogTail = {
    var bytes = 0L
    LogTail(blocks.takeWhile { b => bytes += b.bytes; bytes <= capacity }.toList)
  }
}
