package io.joinless.engine.tuples

/** For each key a list of tuples, threaded through arrays indexed by tuple: `idx_c`, `vs` and `live_c` of a view tree.
  *
  * A tuple is in at most one list of a family. Push and remove cost O(1); walking a list meets no holes, which constant
  * delay needs. Without `removable` there are no back links (half the memory) and nothing can be removed.
  */
final class IntLists(removable: Boolean, counted: Boolean) {
  private[this] val heads = new PagedInts
  private[this] val nexts = new PagedInts
  private[this] val previous = if (removable) new PagedInts else null
  private[this] val counts = if (counted) new PagedInts else null

  def isEmpty(key: Int): Boolean = heads(key) == 0

  /** First tuple of the list plus one, 0 where the list is empty. */
  def head(key: Int): Int = heads(key)

  /** Tuple after `tuple` plus one, 0 at the end. */
  def next(tuple: Int): Int = nexts(tuple)

  /** Length of the list; only where `counted`. */
  def count(key: Int): Int = counts(key)

  def push(key: Int, tuple: Int): Unit = {
    val head = heads(key)
    nexts(tuple) = head
    if (previous != null) {
      previous(tuple) = 0
      if (head != 0) previous(head - 1) = tuple + 1
    }
    heads(key) = tuple + 1
    if (counts != null) { val _ = counts.add(key, 1) }
  }

  def remove(key: Int, tuple: Int): Unit = {
    val before = previous(tuple)
    val after = nexts(tuple)
    if (before == 0) heads(key) = after else nexts(before - 1) = after
    if (after != 0) previous(after - 1) = before
    nexts(tuple) = 0
    previous(tuple) = 0
    if (counts != null) { val _ = counts.add(key, -1) }
  }

  def bytes: Long = heads.bytes + nexts.bytes + (if (previous == null) 0 else previous.bytes) + (if (counts == null) 0
                                                                                                 else counts.bytes)
}
