package io.joinless.engine.tuples

/** For each key a list of tuples with inlined words: `vs` and `live_c` of a view tree, by which
  * results are enumerated.
  *
  * A tuple is in at most one list of a family. Its ''record'' is a few contiguous words. The first
  * word holds the tuple and, in the upper half, the key from which the enumeration continues; the
  * other words are copied from its row. So an enumeration reads one cache line instead of three
  * (tuple, key and row). A list of one tuple is stored in the key's head. A list of up to eight is
  * one chunk of 2, 4 or 8 records, and moves to another chunk as it grows and shrinks. A longer
  * list is a chain of chunks of 8, 8, 16, 32, and then 64 records. Most lists are short, and most
  * results come from long ones.
  * {{{
  * heads, per key   length | 0                            record   a list of one
  *                  length | slot of the newest record             a longer one
  * pool             below    record   record   …          a chunk: its header is the slot
  *                                                        where the chain continues, or 0
  * }}}
  * Lists have no holes, which constant delay requires: `remove` moves the newest record into the
  * gap. Push and remove cost O(1); removal needs the slot of each tuple of a list of several.
  * Append-only lists do not keep slots: their `remove` takes the newest tuple, whichever is named.
  * That is right for undoing pushes in an order that ends with the same set.
  *
  * Slots say where a record lies, in the pool or (below 0) in the heads; 0 is none. A slot is valid
  * until the next push or remove.
  *
  * @param keys tuple → the key from which the enumeration continues, so that the next list is found
  *     without reading the tuple. It must not change while the tuple is in a list. Null if the
  *     enumeration does not continue from these tuples.
  * @param words the words to inline, if the tuples are rows; else null
  */
final class RecordLists(removable: Boolean, keys: NotedKeys = null, words: InlinedWords = null)
    extends KeyedLists {
  import RecordLists._

  /** Words of a record. */
  val width: Int = 1 + (if (words == null) 0 else words.width)

  private[this] val space = new ChunkSpace(Array.tabulate(Classes)(c => 1 + width * capacity(c)))
  private[this] val heads = new PagedWords(1 + width)
  private[this] val pool = new PagedWords(1)
  private[this] val slotOf =
    if (removable) new PagedInts else null // tuple -> its slot, if its list has several

  def isEmpty(key: Int): Boolean = count(key) == 0

  /** The length of a key's list. */
  def count(key: Int): Int = length(headOf(key))

  /** The slot of the newest record. */
  def first(key: Int): Int = first(key, headOf(key))

  /** The head of a list. A caller that needs both `length` and `first` of it reads the head once.
    */
  def headOf(key: Int): Long = heads.word(key, 0)

  /** The slot of the newest record of a key's list, whose head was read; 0 if the list is empty. */
  def first(key: Int, head: Long): Int = if (length(head) > 1) slot(head) else if (length(head) == 1) ~key else 0

  /** The tuple in a slot, which is not 0. */
  def tuple(slot: Int): Int = page(slot)(at(slot)).toInt

  /** The slot below this one, which has `left` older ones. */
  def next(slot: Int, left: Int): Int =
    if (left == 0) 0 else if (isBorder(left)) pool.word(slot - 1, 0).toInt else slot - width

  /** Whether the keys inlined with the tuples are those of this array. */
  def inlines(keys: NotedKeys): Boolean = keys != null && (keys eq this.keys)

  /** Whether the words inlined with the tuples of a list equal the array's keys and the rows'
    * fields. For checks.
    */
  def areInlinedRight(key: Int): Boolean = {
    var olderLeft = count(key)
    var slot = first(key)
    while (slot != 0 && isRight(page(slot), at(slot))) {
      olderLeft -= 1
      slot = next(slot, olderLeft)
    }
    slot == 0
  }

  /** Whether the record that begins at `page(at)` has the key and the words of its tuple. */
  private def isRight(page: Array[Long], at: Int): Boolean = {
    val tuple = page(at).toInt
    inlinedKey(page(at)) == (if (keys == null) 0 else keys(tuple)) &&
    (words == null || words.are(tuple, page, at + 1))
  }

  /** The number of newest records of a list of `length` tuples that are contiguous: those in its
    * last chunk.
    */
  def inLastRun(length: Int): Int = length - borderBelow(length)

  /** The slot where the list continues below a run that begins at `at` of a page of the pool. */
  def below(page: Array[Long], at: Int): Int = page(at - 1).toInt

  /** The array that holds the record of a slot, from `at(slot)` on; the older ones of its run lie
    * below.
    */
  def page(slot: Int): Array[Long] = if (slot > 0) pool.page(slot) else heads.page(~slot)

  /** The index at which the record of a slot begins in `page(slot)`. */
  def at(slot: Int): Int = if (slot > 0) pool.at(slot) else heads.at(~slot) + 1

  /** Adds a tuple to the list of its key. If the list has `length` tuples, the new record goes
    * {{{
    * length  0          to the head
    *         1          to a chunk of 2, behind the record of the head, which moves there
    *         2, 4       to a chunk of 4 or 8, behind the others, which move there
    *         a border   to a new chunk, whose header points to the newest record so far
    *         others     behind the newest record
    * }}}
    */
  def push(key: Int, tuple: Int): Unit = {
    heads.reserve(key)
    val page = heads.page(key)
    val at = heads.at(key)
    val length = page(at).toInt
    if (length == 0) {
      page(at) = 1L
      write(page, at + 1, tuple)
    } else {
      val newest = slot(page(at)) // 0 in a list of one
      val added =
        if (length == 1) lengthen(page, at + 1) + width
        else if (length == 2 || length == 4) move(newest, length, length >> 2, (length >> 2) + 1) + width
        else if (isBorder(length)) allocate(classAt(length), below = newest)
        else newest + width
      write(pool.page(added), pool.at(added), tuple)
      if (slotOf != null) slotOf(tuple) = added
      page(at) = head(length + 1, added)
    }
  }

  /** Writes the record of a tuple from `page(at)` on. */
  private def write(page: Array[Long], at: Int, tuple: Int): Unit = {
    page(at) = if (keys == null) tuple.toLong else record(tuple, keys(tuple))
    if (words != null) words.copy(tuple, page, at + 1)
  }

  /** Removes a tuple from the list of its key. The newest record fills the gap; then the list is
    * cut by one at its newest end. If `left` tuples remain, that end is
    * {{{
    * left    0          in the head, which is emptied
    *         1          in a chunk of 2: the other record moves to the head
    *         2, 4       in a chunk of 4 or 8: the others move to a chunk of half the size
    *         a border   alone in the newest chunk: the list goes on where its header points to
    *         others     not the first of its chunk: the record before it becomes the newest
    * }}}
    */
  def remove(key: Int, tuple: Int): Unit = {
    val page = heads.page(key)
    val at = heads.at(key)
    val left = page(at).toInt - 1
    val newest = slot(page(at)) // 0 in a list of one
    if (left > 0 && slotOf != null) fill(slotOf(tuple), newest)
    if (left == 0) page(at) = 0L
    else if (left == 1) {
      page(at) = 1L
      shorten(page, at + 1, newest - width)
    } else if (left == 2 || left == 4) page(at) = head(left, move(newest - width, left, (left >> 2) + 1, left >> 2))
    else if (isBorder(left)) {
      page(at) = head(left, pool.word(newest - 1, 0).toInt)
      space.free(newest - 1, classAt(left))
    } else page(at) = head(left, newest - width)
  }

  /** Moves the newest record, at `end`, into a gap. */
  private def fill(gap: Int, end: Int): Unit = if (gap != end) {
    Words.copy(pool.page(end), pool.at(end), pool.page(gap), pool.at(gap), width)
    slotOf(pool.word(gap, 0).toInt) = gap
  }

  /** Moves the record of a list of one, from `page(at)` on in the key's head, to a new chunk, and
    * returns its slot there. The caller sets the head.
    */
  private def lengthen(page: Array[Long], at: Int): Int = {
    val slot = allocate(0, below = 0)
    Words.copy(page, at, pool.page(slot), pool.at(slot), width)
    if (slotOf != null) slotOf(page(at).toInt) = slot
    slot
  }

  /** Moves the only record of a chunk to its key's head. */
  private def shorten(page: Array[Long], at: Int, slot: Int): Unit = {
    Words.copy(pool.page(slot), pool.at(slot), page, at, width)
    space.free(slot - 1, 0)
  }

  /** Moves a list of `length` records, the newest at `end`, to a chunk of another class, and
    * returns the newest one's new slot.
    *
    * @param from the class of the chunk they are in
    * @param to the class of the other
    */
  private def move(end: Int, length: Int, from: Int, to: Int): Int = {
    val old = end - width * (length - 1)
    val slot = allocate(to, below = 0)
    Words.copy(pool.page(old), pool.at(old), pool.page(slot), pool.at(slot), width * length)
    space.free(old - 1, from)
    val last = slot + width * (length - 1)
    if (slotOf != null) {
      var s = slot
      while (s <= last) { slotOf(pool.word(s, 0).toInt) = s; s += width }
    }
    last
  }

  /** Allocates a chunk; returns the slot of its first record. */
  private def allocate(chunkClass: Int, below: Int): Int = {
    val header = space.allocate(chunkClass)
    pool.reserve(header + width * capacity(chunkClass))
    pool.page(header)(pool.at(header)) = below.toLong
    header + 1
  }

  def bytes: Long = pool.bytes + heads.bytes + (if (slotOf == null) 0 else slotOf.bytes) + space.bytes
}

private[engine] object RecordLists {
  final private val Classes = 6
  final private val Largest = 64
  final private val OneChunk = 8 // the largest list that is one chunk, and moved as it grows

  /** Records of a chunk: 2, 4, 8, 16, 32 or 64. */
  private def capacity(chunkClass: Int): Int = 2 << chunkClass

  /** Whether another chunk of the chain begins at this length. */
  private def isBorder(length: Int): Boolean =
    length >= OneChunk && (length & (if (length < Largest) length - 1 else Largest - 1)) == 0

  /** The length of a list of `length` records without its last chunk. */
  private def borderBelow(length: Int): Int =
    if (length <= OneChunk) 0
    else if (length <= Largest) Integer.highestOneBit(length - 1)
    else length - 1 & ~(Largest - 1)

  /** The class of the chunk that begins at a border: it holds as much as the list. */
  private def classAt(border: Int): Int = math.min(Classes - 1, 30 - Integer.numberOfLeadingZeros(border))

  /** The first word of a record: a tuple, and the key inlined with it. */
  private def record(tuple: Int, key: Int): Long = key.toLong << 32 | tuple

  /** The first word of a list's head: its length, and the slot of its newest record (0 in a list of
    * one).
    */
  private def head(length: Int, slot: Int): Long = slot.toLong << 32 | length
  def length(head: Long): Int = head.toInt

  /** The slot in a list's head; 0 in a list of one. */
  private def slot(head: Long): Int = (head >>> 32).toInt

  /** The tuple in the first word of a record, and below the key inlined with it. */
  def tuple(record: Long): Int = record.toInt
  def inlinedKey(record: Long): Int = (record >>> 32).toInt
}
