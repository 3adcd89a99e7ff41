package io.joinless.engine.tuples

/** The allocator of a pool: chunks of a few sizes, each within one page. Freed chunks are reused.
  *
  * @param sizes elements of a chunk, by class
  */
final private[tuples] class ChunkSpace(sizes: Array[Int]) {
  private[this] var end = 0 // of the allocated part of the pool
  private[this] var freed: Array[IntStack] = null // by class, created on the first free

  /** Allocates a chunk; returns its first element. */
  def allocate(chunkClass: Int): Int =
    if (freed != null && !freed(chunkClass).isEmpty) freed(chunkClass).pop()
    else {
      val size = sizes(chunkClass)
      // a chunk that would straddle a page begins at the next one
      if (PagedInts.at(end) + size > PagedInts.PageSize) end = (end | PagedInts.PageSize - 1) + 1
      val chunk = end
      end += size
      require(end > 0, "lists of one kind have 2^31 elements at most")
      chunk
    }

  /** Frees a chunk, which begins at element `chunk`, for reuse in its class. */
  def free(chunk: Int, chunkClass: Int): Unit = {
    if (freed == null) freed = Array.fill(sizes.length)(new IntStack)
    freed(chunkClass).push(chunk)
  }

  def bytes: Long = if (freed == null) 0 else freed.iterator.map(_.bytes).sum
}
