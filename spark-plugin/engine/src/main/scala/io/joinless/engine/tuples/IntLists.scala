package io.joinless.engine.tuples

/** For each key a list of tuples: `idx_c`, `vs` and `live_c` of a view tree.
  *
  * A tuple is in at most one list of a family. A ''short'' list, of up to `short` tuples, lies at its key, beside its length: to find it
  * is to have it. A longer one is a chain of chunks in one shared pool of ints, the newest chunk first; chunks hold twice as many
  * tuples (and one) as the one before, up to 63, and lie in one page, so walking a long list is walking memory in order, and a list
  * wastes less than it holds.
  * {{{
  * heads, at 4 · key      length   tuple    tuple    tuple         a short list, oldest first
  *                        length   tuple    beside                 where something lies beside tuples, the only tuple
  *                        length   slot of the last tuple          a longer list
  * pool                   ~below   tuple    tuple    …             a chunk: its header says where the chain goes on, 0 nowhere
  * }}}
  * Lists have no holes (constant delay needs that): `remove` moves the last tuple into the gap. Push and remove cost O(1); removal
  * needs a place per tuple. Lists that are only appended to do without: there, `remove` takes the last tuple, whichever is named, which
  * is right for taking pushes back in an order that ends with the same set.
  *
  * Slots say where a tuple lies, in the pool or (below 0) in the heads; 0 is none. They hold until the next push or remove.
  *
  * @param keys where the walk goes on from a tuple, which lies beside each tuple of a list: so the next list is found without a look
  *   at the tuple. It must not change while the tuple is in a list.
  */
final class IntLists(removable: Boolean, keys: PagedInts = null) {
  import IntLists._

  /** A list of up to so many tuples is short. */
  val short: Int = if (keys == null) 3 else 1

  private[this] val chunks = if (keys == null) BehindThree else BehindOne
  private[this] val heads = new PagedInts
  private[this] val pool = new PagedInts
  private[this] var poolEnd = 0
  private[this] val besides =
    if (keys == null) null else new PagedInts // slot -> key of the tuple that lies there in the pool
  private[this] val places = if (removable) new PagedInts else null // tuple -> its slot
  private[this] var freed: Array[IntStack] = null // headers of free chunks by class, once there are any

  def isEmpty(key: Int): Boolean = count(key) == 0

  def count(key: Int): Int = heads(Head * key)

  /** The slot of the last tuple. */
  def first(key: Int): Int = {
    val length = count(key)
    if (length > short) heads(Head * key + 1) else if (length > 0) ~(Head * key + length) else 0
  }

  def tuple(slot: Int): Int = if (slot > 0) pool(slot) else heads(~slot)

  def next(slot: Int): Int =
    if (slot > 0) { if (pool(slot - 1) >= 0) slot - 1 else ~pool(slot - 1) }
    else if ((~slot & Head - 1) > 1) slot + 1
    else 0

  /** What lies beside a tuple is what this array has of it. */
  def hasBeside(keys: PagedInts): Boolean = keys != null && (keys eq this.keys)

  /** What lies beside the tuples of a list is what the array has of them. For checks. */
  def besideIsRight(key: Int): Boolean = keys == null || {
    var slot = first(key)
    while (slot != 0 && (if (slot > 0) besides(slot) else heads(~slot + 1)) == keys(tuple(slot))) slot = next(slot)
    slot == 0
  }

  /** The newest tuples of a list of `length` tuples, as many as lie together behind each other: in its last chunk, or all. */
  def inLastRun(length: Int): Int = length - chunks.borderBelow(length)

  /** Where the list goes on below a run of `size` tuples, of which the newest lies at `slot`; 0 at its end. */
  def below(slot: Int, size: Int): Int = if (slot > 0) ~pool(slot - size) else 0

  /** The array in which the tuple of a slot lies, at `at(slot)`; the older ones of its run lie below. */
  def page(slot: Int): Array[Int] = if (slot > 0) pool.page(slot) else heads.page(~slot)

  def at(slot: Int): Int = PagedInts.at(if (slot > 0) slot else ~slot)

  /** As `page`, of what lies beside: at `at(slot) + besideShift(slot)`. Null where nothing does. */
  def besidePage(slot: Int): Array[Int] =
    if (besides == null) null else if (slot > 0) besides.page(slot) else heads.page(~slot)

  def besideShift(slot: Int): Int = if (slot > 0) 0 else 1

  def push(key: Int, tuple: Int): Unit = {
    val length = count(key)
    if (length < short) {
      val at = Head * key + 1 + length
      heads(at - 1 - length) = length + 1
      heads(at) = tuple
      if (besides != null) heads(at + 1) = keys(tuple)
      if (places != null) places(tuple) = ~at
    } else {
      val slot =
        if (length == short) lengthen(key) + length + 1
        else if (!chunks.isBorder(length)) heads(Head * key + 1) + 1
        else {
          val header = allocate(chunks.classAt(length))
          pool(header) = ~heads(Head * key + 1)
          header + 1
        }
      put(slot, tuple)
      set(key, length + 1, slot)
    }
  }

  def remove(key: Int, tuple: Int): Unit = {
    val end = first(key)
    if (places != null) {
      val slot = places(tuple)
      if (end < 0) {
        heads(~slot) = heads(~end)
        places(heads(~end)) = slot
      } else {
        val last = pool(end)
        pool(slot) = last
        if (besides != null) besides(slot) = besides(end)
        places(last) = slot
      }
      places(tuple) = 0
    }
    val length = count(key) - 1
    if (length < short) heads(Head * key) = length
    else if (length == short) shorten(key, end - length - 1)
    else if (chunks.isBorder(length)) {
      set(key, length, ~pool(end - 1))
      free(end - 1, chunks.classAt(length))
    } else set(key, length, end - 1)
  }

  /** Moves a list of `short` tuples to a chunk, and returns its header. */
  private def lengthen(key: Int): Int = {
    val header = allocate(chunks.classAt(0))
    pool(header) = ~0
    var i = 1
    while (i <= short) { put(header + i, heads(Head * key + i)); i += 1 }
    header
  }

  /** Moves the first `short` tuples of a chunk to their key. */
  private def shorten(key: Int, header: Int): Unit = {
    heads(Head * key) = short
    var i = 1
    while (i <= short) {
      val tuple = pool(header + i)
      heads(Head * key + i) = tuple
      if (besides != null) heads(Head * key + i + 1) = besides(header + i)
      if (places != null) places(tuple) = ~(Head * key + i)
      i += 1
    }
    free(header, chunks.classAt(0))
  }

  private def put(slot: Int, tuple: Int): Unit = {
    pool(slot) = tuple
    if (besides != null) besides(slot) = keys(tuple)
    if (places != null) places(tuple) = slot
  }

  private def set(key: Int, length: Int, end: Int): Unit = {
    heads(Head * key) = length
    heads(Head * key + 1) = end
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

  private def free(header: Int, chunkClass: Int): Unit = {
    if (freed == null) freed = Array.fill(Classes)(new IntStack)
    freed(chunkClass).push(header)
  }

  def bytes: Long =
    pool.bytes + heads.bytes + (if (places == null) 0 else places.bytes) + (if (besides == null) 0 else besides.bytes) +
      (if (freed == null) 0 else freed.iterator.map(_.bytes).sum)
}

private object IntLists {

  /** Ints at each key. */
  final val Head = 4
  final val Classes = 6
  final val LargestChunk = (1 << Classes) - 1 // tuples

  val BehindOne = new Chunks(1)
  val BehindThree = new Chunks(2)

  /** Sizes of the chunks of a list, of which the first is of class `lowest`. A chunk of class c holds (2 << c) − 1 tuples. */
  final class Chunks(lowest: Int) {
    // lengths at which a list of small chunks is full: from class 0 on 0, 1, 1+3, 1+3+7, …
    private[this] val smallBorders = (lowest until Classes).scanLeft(0)((length, c) => length + (2 << c) - 1)
    private[this] val small = smallBorders.last

    // class of the chunk that begins at a length below `small`; −1 where none begins
    private[this] val begins = {
      val table = Array.fill(small)(-1)
      for ((border, i) <- smallBorders.init.zipWithIndex) table(border) = lowest + i
      table
    }

    // by length, up to `small`: that of the list without its last chunk
    private[this] val without = {
      val table = new Array[Int](small + 1)
      for (length <- 1 to small) table(length) = smallBorders.takeWhile(_ < length).last
      table
    }

    /** Length of a list of `length` > 0 tuples without its last chunk. */
    def borderBelow(length: Int): Int =
      if (length <= small) without(length) else length - 1 - (length - 1 - small) % LargestChunk

    /** A list of this length fills its chunks exactly. */
    def isBorder(length: Int): Boolean =
      if (length < small) begins(length) >= 0 else (length - small) % LargestChunk == 0

    /** Class of the chunk that begins at a border. */
    def classAt(border: Int): Int = if (border < small) begins(border) else Classes - 1
  }
}
