package io.joinless.engine.tuples

/** For each key a list of tuples, each with what is asked of it beside it: `vs` and `live_c` of a view tree, by which results are walked.
  *
  * A tuple is in at most one list of a family. Its ''record'' is a few words that lie together: the tuple and, in the upper half, the key
  * by which the walk goes on from it; then words of its row. So who walks reads one line of memory where the tuple, its key and its row
  * would be three. A list of one lies at its key; one of up to eight in one chunk of 2, 4 or 8 records, to which it moves as it grows and
  * shrinks; a longer one in a chain of chunks of 8, 8, 16, 32, and then 64 records: most lists are short, and most results come of long ones.
  * {{{
  * heads, per key   length | 0                            record   a list of one
  *                  length | slot of the newest record             a longer one
  * pool             below    record   record   …          a chunk: its header is the slot where the chain goes on, 0 nowhere
  * }}}
  * Lists have no holes (constant delay needs that): `remove` moves the newest record into the gap. Push and remove cost O(1); removal
  * needs a place per tuple of a list of several. Lists that are only appended to do without: there, `remove` takes the newest tuple, whichever is named, which
  * is right for taking pushes back in an order that ends with the same set.
  *
  * Slots say where a record lies, in the pool or (below 0) in the heads; 0 is none. They hold until the next push or remove.
  *
  * @param keys tuple → where the walk goes on from it: so the next list is found without a look at the tuple. It must not change while
  *   the tuple is in a list. Null where no walk goes on.
  * @param words what is asked of tuples, which are rows then; null where nothing is
  */
final class RecordLists(removable: Boolean, keys: NotedKeys = null, words: ShownWords = null)
    extends KeyedLists {
  import RecordLists._

  /** Words of a record. */
  val width: Int = 1 + (if (words == null) 0 else words.width)

  private[this] val space = new ChunkSpace(Array.tabulate(Classes)(c => 1 + width * capacity(c)))
  private[this] val heads = new PagedWords(1 + width)
  private[this] val pool = new PagedWords(1)
  private[this] val places =
    if (removable) new PagedInts else null // tuple -> its slot, where its list has several

  def isEmpty(key: Int): Boolean = count(key) == 0

  def count(key: Int): Int = length(headOf(key))

  /** The slot of the newest record. */
  def first(key: Int): Int = first(key, headOf(key))

  /** Who asks for both of a list reads its head once: `length` of it, and `first`. */
  def headOf(key: Int): Long = heads.word(key, 0)

  def first(key: Int, head: Long): Int = if (length(head) > 1) slot(head) else if (length(head) == 1) ~key else 0

  def tuple(slot: Int): Int = page(slot)(at(slot)).toInt

  /** The slot below this one, which has `left` older ones. */
  def next(slot: Int, left: Int): Int =
    if (left == 0) 0 else if (isBorder(left)) pool.word(slot - 1, 0).toInt else slot - width

  /** What lies beside a tuple is what this array has of it. */
  def hasBeside(keys: NotedKeys): Boolean = keys != null && (keys eq this.keys)

  /** What lies beside the tuples of a list is what the array has of them, and what the rows have. For checks. */
  def besideIsRight(key: Int): Boolean = {
    var left = count(key)
    var slot = first(key)
    while (slot != 0 && isRight(page(slot), at(slot))) {
      left -= 1
      slot = next(slot, left)
    }
    slot == 0
  }

  private def isRight(page: Array[Long], at: Int): Boolean = {
    val tuple = page(at).toInt
    beside(page(at)) == (if (keys == null) 0 else keys(tuple)) &&
    (words == null || words.are(tuple, page, at + 1))
  }

  /** The newest records of a list of `length` tuples, as many as lie together behind each other: in its last chunk. */
  def inLastRun(length: Int): Int = length - borderBelow(length)

  /** Where the list goes on below a run that begins at `at` of a page of the pool. */
  def below(page: Array[Long], at: Int): Int = page(at - 1).toInt

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
      val end = slot(page(at))
      val next =
        if (length == 1) lengthen(page, at + 1) + width
        else if (length == 2 || length == 4) move(end, length, length >> 2, (length >> 2) + 1) + width
        else if (isBorder(length)) allocate(classAt(length), below = end)
        else end + width
      write(pool.page(next), pool.at(next), tuple)
      if (places != null) places(tuple) = next
      page(at) = head(length + 1, next)
    }
  }

  private def write(page: Array[Long], at: Int, tuple: Int): Unit = {
    page(at) = if (keys == null) tuple.toLong else record(tuple, keys(tuple))
    if (words != null) words.copy(tuple, page, at + 1)
  }

  def remove(key: Int, tuple: Int): Unit = {
    val page = heads.page(key)
    val at = heads.at(key)
    val left = page(at).toInt - 1
    val end = slot(page(at))
    if (left > 0 && places != null) fill(places(tuple), end)
    if (left == 0) page(at) = 0L
    else if (left == 1) {
      page(at) = 1L
      shorten(page, at + 1, end - width)
    } else if (left == 2 || left == 4) page(at) = head(left, move(end - width, left, (left >> 2) + 1, left >> 2))
    else if (isBorder(left)) {
      page(at) = head(left, pool.word(end - 1, 0).toInt)
      space.free(end - 1, classAt(left))
    } else page(at) = head(left, end - width)
  }

  /** Moves the newest record, at `end`, into a gap. */
  private def fill(gap: Int, end: Int): Unit = if (gap != end) {
    Words.copy(pool.page(end), pool.at(end), pool.page(gap), pool.at(gap), width)
    places(pool.word(gap, 0).toInt) = gap
  }

  /** Moves the record of a list of one to a chunk, and returns its slot there. */
  private def lengthen(page: Array[Long], at: Int): Int = {
    val slot = allocate(0, below = 0)
    Words.copy(page, at, pool.page(slot), pool.at(slot), width)
    if (places != null) places(page(at).toInt) = slot
    slot
  }

  /** Moves the one record of a chunk to its key. */
  private def shorten(page: Array[Long], at: Int, slot: Int): Unit = {
    Words.copy(pool.page(slot), pool.at(slot), page, at, width)
    space.free(slot - 1, 0)
  }

  /** Moves a list of `length` records, the newest at `end`, to a chunk of another class, and returns where the newest lies now. */
  private def move(end: Int, length: Int, from: Int, to: Int): Int = {
    val old = end - width * (length - 1)
    val slot = allocate(to, below = 0)
    Words.copy(pool.page(old), pool.at(old), pool.page(slot), pool.at(slot), width * length)
    space.free(old - 1, from)
    val last = slot + width * (length - 1)
    if (places != null) {
      var s = slot
      while (s <= last) { places(pool.word(s, 0).toInt) = s; s += width }
    }
    last
  }

  /** A new chunk; returns the slot of its first record. */
  private def allocate(chunkClass: Int, below: Int): Int = {
    val header = space.allocate(chunkClass)
    pool.reserve(header + width * capacity(chunkClass))
    pool.page(header)(pool.at(header)) = below.toLong
    header + 1
  }

  def bytes: Long = pool.bytes + heads.bytes + (if (places == null) 0 else places.bytes) + space.bytes
}

private[engine] object RecordLists {
  final private val Classes = 6
  final private val Largest = 64
  final private val OneChunk = 8 // records at most of a list that is moved as it grows

  /** Records of a chunk. */
  private def capacity(chunkClass: Int): Int = 2 << chunkClass

  /** Another chunk of the chain begins at this length. */
  private def isBorder(length: Int): Boolean =
    length >= OneChunk && (length & (if (length < Largest) length - 1 else Largest - 1)) == 0

  /** Length of a list of `length` records without its last chunk. */
  private def borderBelow(length: Int): Int =
    if (length <= OneChunk) 0
    else if (length <= Largest) Integer.highestOneBit(length - 1)
    else length - 1 & ~(Largest - 1)

  /** Class of the chunk that begins at a border: as much as the list holds. */
  private def classAt(border: Int): Int = math.min(Classes - 1, 30 - Integer.numberOfLeadingZeros(border))

  /** The first word of a record: a tuple, and what lies beside it. */
  private def record(tuple: Int, beside: Int): Long = beside.toLong << 32 | tuple

  private def head(length: Int, slot: Int): Long = slot.toLong << 32 | length
  def length(head: Long): Int = head.toInt
  private def slot(head: Long): Int = (head >>> 32).toInt

  def tuple(record: Long): Int = record.toInt
  def beside(record: Long): Int = (record >>> 32).toInt
}
