package io.joinless.engine.tuples

/** For each key a list of tuples: `idx_c` of a view tree.
  *
  * A tuple is in at most one list of a family. A ''short'' list, of up to three tuples, is stored
  * in the key's head, behind its length, so that one read finds it. A longer list is a chain of
  * chunks ([[Chunks]]) in one shared pool of ints, the newest chunk first.
  * {{{
  * heads, at 4 · key      length   tuple    tuple    tuple         a short list, oldest first
  *                        length   slot of the last tuple          a longer list
  * pool                   ~below   tuple    tuple    …             a chunk: its header is the slot
  *                                                                 where the chain continues, or 0
  * }}}
  * Lists have no holes: `remove` moves the last tuple into the gap. Push and remove cost O(1);
  * removal needs the slot of each tuple. Append-only lists do not keep slots: their `remove` takes
  * the last tuple, whichever is named. That is right for undoing pushes in an order that ends with
  * the same set.
  *
  * Slots say where a tuple lies, in the pool or (below 0) in the heads; 0 is none. A slot is valid
  * until the next push or remove.
  *
  * Lists by which results are enumerated keep more words with their tuples: [[RecordLists]].
  */
final class IntLists(removable: Boolean) extends KeyedLists {
  import IntLists._

  private[this] val chunks = new Chunks(lowest = 2)
  private[this] val heads = new PagedInts
  private[this] val pool = new PagedInts
  private[this] val slotOf = if (removable) new PagedInts else null // tuple -> its slot

  def isEmpty(key: Int): Boolean = count(key) == 0

  /** The length of a key's list. */
  def count(key: Int): Int = heads(Head * key)

  /** The slot of the last tuple. */
  def first(key: Int): Int = {
    val length = count(key)
    if (length > Short) heads(Head * key + 1) else if (length > 0) ~(Head * key + length) else 0
  }

  /** The tuple in a slot, which is not 0. */
  def tuple(slot: Int): Int = if (slot > 0) pool(slot) else heads(~slot)

  /** The slot of the tuple below the one in `slot`; 0 after the oldest one. */
  def next(slot: Int): Int =
    if (slot > 0) { if (pool(slot - 1) >= 0) slot - 1 else ~pool(slot - 1) }
    else if ((~slot & Head - 1) > 1) slot + 1
    else 0

  /** Calls `f` with each tuple of a key's list, the last one first. The list must not change
    * meanwhile.
    */
  @inline def foreach(key: Int)(f: Int => Unit): Unit = {
    var slot = first(key)
    while (slot != 0) { f(tuple(slot)); slot = next(slot) }
  }

  /** Adds a tuple to the list of its key. A list that is no longer short moves to a first chunk; a
    * list that fills its chunks gets another one.
    */
  def push(key: Int, tuple: Int): Unit = {
    val length = count(key)
    if (length < Short) {
      val at = Head * key + 1 + length
      heads(Head * key) = length + 1
      heads(at) = tuple
      if (slotOf != null) slotOf(tuple) = ~at
    } else {
      val slot =
        if (length == Short) lengthen(key) + length + 1
        else if (!chunks.isBorder(length)) heads(Head * key + 1) + 1
        else {
          val header = chunks.allocate(length)
          pool(header) = ~heads(Head * key + 1)
          header + 1
        }
      put(slot, tuple)
      set(key, length + 1, slot)
    }
  }

  /** Removes a tuple from the list of its key. The last tuple fills the gap; then the list is cut
    * by one at its end. A list that gets short moves to the head; a chunk that gets empty is freed.
    */
  def remove(key: Int, tuple: Int): Unit = {
    val end = first(key)
    if (slotOf != null) {
      val slot = slotOf(tuple)
      if (end < 0) {
        heads(~slot) = heads(~end)
        slotOf(heads(~end)) = slot
      } else {
        val last = pool(end)
        pool(slot) = last
        slotOf(last) = slot
      }
      slotOf(tuple) = 0
    }
    val length = count(key) - 1
    if (length < Short) heads(Head * key) = length
    else if (length == Short) shorten(key, end - length - 1)
    else if (chunks.isBorder(length)) {
      set(key, length, ~pool(end - 1))
      chunks.free(end - 1, length)
    } else set(key, length, end - 1)
  }

  /** Moves a list of `Short` tuples from the key's head to a new chunk, and returns the position of
    * the chunk's header in the pool. The caller sets the head.
    */
  private def lengthen(key: Int): Int = {
    val header = chunks.allocate(0)
    pool(header) = ~0
    var i = 1
    while (i <= Short) { put(header + i, heads(Head * key + i)); i += 1 }
    header
  }

  /** Moves the first `Short` tuples of a list's only chunk to the key's head, and frees the chunk.
    *
    * @param header position of the chunk's header in the pool
    */
  private def shorten(key: Int, header: Int): Unit = {
    heads(Head * key) = Short
    var i = 1
    while (i <= Short) {
      val tuple = pool(header + i)
      heads(Head * key + i) = tuple
      if (slotOf != null) slotOf(tuple) = ~(Head * key + i)
      i += 1
    }
    chunks.free(header, 0)
  }

  /** Stores a tuple in a slot of the pool. */
  private def put(slot: Int, tuple: Int): Unit = {
    pool(slot) = tuple
    if (slotOf != null) slotOf(tuple) = slot
  }

  /** Sets the length of a longer list, and the slot of its last tuple. */
  private def set(key: Int, length: Int, end: Int): Unit = {
    heads(Head * key) = length
    heads(Head * key + 1) = end
  }

  def bytes: Long = pool.bytes + heads.bytes + (if (slotOf == null) 0 else slotOf.bytes) + chunks.bytes
}

private object IntLists {

  /** Ints per head. */
  final val Head = 4

  /** The maximum length of a short list. */
  final val Short = 3
}
