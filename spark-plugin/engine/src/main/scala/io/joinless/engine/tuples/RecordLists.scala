package io.joinless.engine.tuples

/** For each key a list of tuples, each with what is asked of it beside it: `vs` and `live_c` of a view tree, by which results are walked.
  *
  * A tuple is in at most one list of a family. Its ''record'' is a few words that lie together: the tuple and, in the upper half, the key
  * by which the walk goes on from it; then words of its row. So who walks reads one line of memory where the tuple, its key and its row
  * would be three. A list of one lies at its key; a longer one is a chain of chunks ([[Chunks]]) in one pool, the newest first.
  * {{{
  * heads, per key   length | 0                record       a list of one
  *                  length | slot of the last record       a longer one
  * pool             ~below      record   record   …        a chunk: its header says where the chain goes on, 0 nowhere
  * }}}
  * Lists have no holes (constant delay needs that): `remove` moves the last record into the gap. Push and remove cost O(1); removal
  * needs a place per tuple of a list of several. Lists that are only appended to do without: there, `remove` takes the last tuple, whichever is named, which
  * is right for taking pushes back in an order that ends with the same set.
  *
  * Slots say where a record lies, in the pool or (below 0) in the heads; 0 is none. They hold until the next push or remove.
  *
  * @param keys tuple → where the walk goes on from it: so the next list is found without a look at the tuple. It must not change while
  *   the tuple is in a list. Null where no walk goes on.
  * @param words what is asked of tuples, which are rows then; null where nothing is
  */
final class RecordLists(removable: Boolean, keys: PagedInts = null, words: ShownWords = null) {

  /** Words of a record. */
  val width: Int = 1 + (if (words == null) 0 else words.width)

  private[this] val chunks = new Chunks(lowest = 1)
  private[this] val heads = new PagedWords(1 + width)
  private[this] val pool = new PagedWords(width)
  private[this] val places = if (removable) new PagedInts else null // tuple -> its slot, where its list has several

  def isEmpty(key: Int): Boolean = count(key) == 0

  def count(key: Int): Int = heads.word(key, 0).toInt

  /** The slot of the last record. */
  def first(key: Int): Int = {
    val head = heads.word(key, 0)
    if (head.toInt > 1) RecordLists.slot(head) else if (head.toInt == 1) ~key else 0
  }

  def tuple(slot: Int): Int = page(slot)(at(slot)).toInt

  def next(slot: Int): Int =
    if (slot < 0) 0
    else {
      val below = pool.word(slot - 1, 0)
      if (below >= 0L) slot - 1 else (~below).toInt
    }

  /** What lies beside a tuple is what this array has of it. */
  def hasBeside(keys: PagedInts): Boolean = keys != null && (keys eq this.keys)

  /** What lies beside the tuples of a list is what the array has of them, and what the rows have. For checks. */
  def besideIsRight(key: Int): Boolean = {
    var slot = first(key)
    while (slot != 0 && isRight(page(slot), at(slot))) slot = next(slot)
    slot == 0
  }

  private def isRight(page: Array[Long], at: Int): Boolean = {
    val tuple = page(at).toInt
    RecordLists.beside(page(at)) == (if (keys == null) 0 else keys(tuple)) &&
    (words == null || words.are(tuple, page, at + 1))
  }

  /** The newest records of a list of `length` tuples, as many as lie together behind each other: in its last chunk. */
  def inLastRun(length: Int): Int = if (length == 1) 1 else length - chunks.borderBelow(length)

  /** Where the list goes on below a run of `size` records, of which the newest lies at `slot`; 0 at its end. */
  def below(slot: Int, size: Int): Int = if (slot > 0) (~pool.word(slot - size, 0)).toInt else 0

  /** The array in which the record of a slot lies, from `at(slot)` on; the older ones of its run lie below. */
  def page(slot: Int): Array[Long] = if (slot > 0) pool.page(slot) else heads.page(~slot)

  def at(slot: Int): Int = if (slot > 0) pool.at(slot) else heads.at(~slot) + 1

  def push(key: Int, tuple: Int): Unit = {
    heads.reserve(key)
    val page = heads.page(key)
    val at = heads.at(key)
    val length = page(at).toInt
    if (length == 0) {
      page(at) = 1L
      write(page, at + 1, tuple)
    } else {
      val end = RecordLists.slot(page(at))
      val slot =
        if (length == 1) lengthen(page, at + 1) + 2
        else if (!chunks.isBorder(length)) end + 1
        else allocate(length, below = end) + 1
      pool.reserve(slot)
      write(pool.page(slot), pool.at(slot), tuple)
      if (places != null) places(tuple) = slot
      page(at) = RecordLists.head(length + 1, slot)
    }
  }

  private def write(page: Array[Long], at: Int, tuple: Int): Unit = {
    page(at) = if (keys == null) tuple.toLong else RecordLists.record(tuple, keys(tuple))
    if (words != null) words.copy(tuple, page, at + 1)
  }

  def remove(key: Int, tuple: Int): Unit = {
    val page = heads.page(key)
    val at = heads.at(key)
    val left = page(at).toInt - 1
    val end = RecordLists.slot(page(at))
    if (left > 0 && places != null) fill(places(tuple), end)
    if (left == 0) page(at) = 0L
    else if (left == 1) {
      page(at) = 1L
      shorten(page, at + 1, end - 1)
    } else if (chunks.isBorder(left)) {
      page(at) = RecordLists.head(left, (~pool.word(end - 1, 0)).toInt)
      chunks.free(end - 1, left)
    } else page(at) = RecordLists.head(left, end - 1)
  }

  /** Moves the last record, at `end`, into a gap. */
  private def fill(gap: Int, end: Int): Unit = if (gap != end) {
    Words.copy(pool.page(end), pool.at(end), pool.page(gap), pool.at(gap), width)
    places(pool.word(gap, 0).toInt) = gap
  }

  /** Moves the record of a list of one to a chunk, and returns its header. */
  private def lengthen(page: Array[Long], at: Int): Int = {
    val header = allocate(0, below = 0)
    pool.reserve(header + 1)
    Words.copy(page, at, pool.page(header + 1), pool.at(header + 1), width)
    if (places != null) places(page(at).toInt) = header + 1
    header
  }

  /** Moves the one record of a chunk to its key. */
  private def shorten(page: Array[Long], at: Int, slot: Int): Unit = {
    Words.copy(pool.page(slot), pool.at(slot), page, at, width)
    chunks.free(slot - 1, 0)
  }

  private def allocate(border: Int, below: Int): Int = {
    val header = chunks.allocate(border)
    pool.reserve(header)
    pool.page(header)(pool.at(header)) = ~below.toLong
    header
  }

  def bytes: Long = pool.bytes + heads.bytes + (if (places == null) 0 else places.bytes) + chunks.bytes
}

private[engine] object RecordLists {

  /** The first word of a record: a tuple, and what lies beside it. */
  private def record(tuple: Int, beside: Int): Long = beside.toLong << 32 | tuple

  private def head(length: Int, slot: Int): Long = slot.toLong << 32 | length
  private def slot(head: Long): Int = (head >>> 32).toInt

  def tuple(record: Long): Int = record.toInt
  def beside(record: Long): Int = (record >>> 32).toInt
}
