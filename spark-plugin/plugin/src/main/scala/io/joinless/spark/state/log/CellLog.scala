package io.joinless.spark.state.log

/** The log of a cell, for one batch. Entries are added with the writer of its [[Retention]]; at the
  * end, the oldest blocks are cleaned while too many entries are outdated: valid ones are written
  * again, and the block is removed. Blocks of this batch are not cleaned. Then the last blocks are
  * merged ([[LogTail]]).
  */
final private[spark] class CellLog(blocks: StoredBlocks, reader: ChangeLogReader, retention: Retention) {
  private[this] val writer = retention.writer
  private[this] val firstOfBatch = writer.nextSequence
  writer.cleanedUntil(retention.oldest)

  /** Ends the batch: cleans and stores. Returns the end of the log. */
  def close(): LogEnd = {
    if (!retention.isUnchanged) {
      retention.begin()
      writer.cleanedUntil(retention.oldest)
      while (retention.isMostlyOutdated && retention.oldest < firstOfBatch && cleanOldest()) {}
      // the last block of a batch is written last: it says which block is the oldest one now
      writer.close(reader, always = retention.mustWrite)(retention.merge)
      retention.end()
    }
    writer.end
  }

  /** Cleans the oldest block, and returns true; false if this batch cannot pay for its entries
    * ([[Retention.pays]]).
    */
  private def cleanOldest(): Boolean = {
    val block = blocks(retention.oldest)
    retention.pays(block.entries) && {
      block.foreachRow(retention.keep(block))
      blocks.remove(block.first)
      retention.removed(block)
      writer.cleanedUntil(retention.oldest)
      true
    }
  }
}
