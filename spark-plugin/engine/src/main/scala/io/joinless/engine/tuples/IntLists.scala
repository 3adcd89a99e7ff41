package io.joinless.engine.tuples

/** For each key a list of tuples: `idx_c`, `vs` and `live_c` of a view tree.
  *
  * A tuple is in at most one list of a family. A list is a chain of chunks in one shared pool of ints, the newest chunk
  * first; chunks hold 1, 3, 7, 15, 31, then 63 tuples each and lie in one page, so walking a long list is walking memory
  * in order, and a list wastes less than it holds. Lists have no holes (constant delay needs that): `remove` moves the last
  * tuple into the gap. Push and remove cost O(1); removal needs a place per tuple. Lists that are only appended to do without: there, `remove`
  * takes the last tuple, whichever is named, which is right for taking pushes back in an order that ends with the same set.
  *
  * Slots, which `first` and `next` hand out, hold until the next push or remove; 0 is none.
  *
  * @param keys where the walk goes on from a tuple, which lies beside each tuple of a list: so the next list is found without a look
  *   at the tuple. It must not change while the tuple is in a list.
  */
final class IntLists(removable: Boolean, keys: PagedInts = null) {
  import IntLists._

  // a chunk of size s: its header, then s - 1 tuples. header = ~(slot where the chain goes on, 0 at its end)
  private[this] val pool = new PagedInts
  private[this] var poolEnd = 0
  private[this] val heads = new PagedInts // 2 · key -> length, 2 · key + 1 -> slot of the last tuple: one look for both
  private[this] val besides = if (keys == null) null else new PagedInts // slot -> key of the tuple that lies there
  private[this] val places = if (removable) new PagedInts else null // tuple -> its slot
  private[this] var freed: Array[IntStack] = null // headers of free chunks by class, once there are any

  def isEmpty(key: Int): Boolean = count(key) == 0

  def count(key: Int): Int = heads(2 * key)

  def first(key: Int): Int = heads(2 * key + 1)

  def tuple(slot: Int): Int = pool(slot)

  /** What lies beside a tuple is what this array has of it. */
  def hasBeside(keys: PagedInts): Boolean = besides != null && (keys eq this.keys)

  /** As `page`, of what lies beside; null where nothing does. */
  def besidePage(slot: Int): Array[Int] = if (besides == null) null else besides.page(slot)

  /** What lies beside the tuples of a list is what the array has of them. For checks. */
  def besideIsRight(key: Int): Boolean = besides == null || {
    var slot = first(key)
    while (slot != 0 && besides(slot) == keys(tuple(slot))) slot = next(slot)
    slot == 0
  }

  /** The newest tuples of a list of `length` tuples, as many as lie in its last chunk. */
  def inLastChunk(length: Int): Int = length - IntLists.borderBelow(length)

  /** Where the list goes on below a chunk, of which the lowest tuple lies at `lowest`; 0 at its end. */
  def below(lowest: Int): Int = ~pool(lowest - 1)

  /** The page where the tuple of a slot lies, at `PagedInts.at(slot)`; the tuples before it in its chunk lie below. */
  def page(slot: Int): Array[Int] = pool.page(slot)

  def next(slot: Int): Int = if (pool(slot - 1) >= 0) slot - 1 else ~pool(slot - 1)

  def push(key: Int, tuple: Int): Unit = {
    val count = this.count(key)
    val slot =
      if (!isBorder(count)) first(key) + 1
      else {
        val header = allocate(classAt(count))
        pool(header) = ~first(key)
        header + 1
      }
    pool(slot) = tuple
    if (besides != null) besides(slot) = keys(tuple)
    set(key, count + 1, slot)
    if (places != null) places(tuple) = slot
  }

  def remove(key: Int, tuple: Int): Unit = {
    val end = first(key)
    if (places != null) {
      val last = pool(end)
      val slot = places(tuple)
      pool(slot) = last
      if (besides != null) besides(slot) = besides(end)
      places(last) = slot
      places(tuple) = 0
    }
    val count = this.count(key) - 1
    if (isBorder(count)) {
      set(key, count, ~pool(end - 1))
      if (freed == null) freed = Array.fill(Classes)(new IntStack)
      freed(classAt(count)).push(end - 1)
    } else set(key, count, end - 1)
  }

  private def set(key: Int, length: Int, end: Int): Unit = {
    heads(2 * key) = length
    heads(2 * key + 1) = end
  }

  private def allocate(chunkClass: Int): Int =
    if (freed != null && !freed(chunkClass).isEmpty) freed(chunkClass).pop()
    else {
      val size = 2 << chunkClass
      if (PagedInts.at(poolEnd) + size > PagedInts.PageSize) poolEnd = (poolEnd | PagedInts.PageSize - 1) + 1
      val header = poolEnd
      poolEnd += size
      header
    }

  def bytes: Long =
    pool.bytes + heads.bytes + (if (places == null) 0 else places.bytes) + (if (besides == null) 0 else besides.bytes) +
      (if (freed == null) 0 else freed.iterator.map(_.bytes).sum)
}

private object IntLists {
  final val Classes = 6
  final val LargestChunk = (1 << Classes) - 1 // tuples
  // lengths at which a list of small chunks is full: 0, 1, 1+3, 1+3+7, …
  private val SmallBorders =
    Array.iterate((0, 0), Classes + 1) { case (length, c) => (length + (2 << c) - 1, c + 1) }.map(_._1)
  private val Small = SmallBorders.last

  // class of the chunk that begins at a length below Small; −1 where none begins
  private val Begins = {
    val table = Array.fill(Small)(-1)
    for (c <- 0 until Classes) table(SmallBorders(c)) = c
    table
  }

  // by length, up to Small: that of the list without its last chunk
  private val Below = {
    val table = new Array[Int](Small + 1)
    for (length <- 1 to Small) table(length) = SmallBorders.takeWhile(_ < length).last
    table
  }

  /** Length of a list of `length` > 0 tuples without its last chunk. */
  def borderBelow(length: Int): Int =
    if (length <= Small) Below(length) else length - 1 - (length - 1 - Small) % LargestChunk

  /** A list of this length fills its chunks exactly. */
  def isBorder(length: Int): Boolean =
    if (length < Small) Begins(length) >= 0 else (length - Small) % LargestChunk == 0

  /** Class of the chunk that begins at a border: it holds (2 << class) − 1 tuples. */
  def classAt(border: Int): Int = if (border < Small) Begins(border) else Classes - 1
}
