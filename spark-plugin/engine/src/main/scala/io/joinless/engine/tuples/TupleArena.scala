package io.joinless.engine.tuples

import java.util.Arrays

/** The rows of one input (or the keys of one index), each a run of 8-byte words addressed by a
  * dense int id.
  *
  * Rows lie in pages of 256 KB (the first one starts small) and never straddle a page; a larger row
  * gets a page of its own. So a row is read in place, by `page(id)`, `start(id)` and `words(id)`,
  * without a copy. The pointer is valid until the next `reserve` or `free`. With `fixedWords > 0`
  * the address follows from the id. With 0, rows vary in length and each costs 8 bytes more for its
  * address; space of freed rows is reclaimed by compaction once it exceeds that of the live rows
  * (amortised O(1)).
  */
final class TupleArena(fixedWords: Int) {
  import TupleArena._

  private[this] val store: Store = if (fixedWords > 0) new FixedStore(fixedWords) else new VaryingStore
  private[this] val freed = new IntStack
  private[this] var ids = 0

  /** Number of rows. */
  def live: Int = ids - freed.size

  /** An exclusive upper bound of all ids. */
  def limit: Int = ids

  /** Allocates a row of `words` words, whose content is undefined until the caller writes it. */
  def reserve(words: Int): Int = {
    val id = if (freed.isEmpty) { ids += 1; ids - 1 }
    else freed.pop()
    store.place(id, words, ids)
    id
  }

  /** Frees a row; its id is given to a later row. An arena without rows frees its pages. */
  def free(id: Int): Unit = {
    store.release(id, ids)
    freed.push(id)
    if (freed.size == ids) { ids = 0; freed.clear(); store.clear() }
  }

  /** The page that holds a row, `words(id)` words from `start(id)` on. */
  def page(id: Int): Array[Long] = store.page(id)
  def start(id: Int): Int = store.start(id)
  def words(id: Int): Int = store.words(id)

  /** Adds a row with the content of `source(from until from + words)`. */
  def append(source: Array[Long], from: Int, words: Int): Int = {
    val id = reserve(words)
    Words.copy(source, from, page(id), start(id), words)
    id
  }

  /** Whether a row equals `source(from until from + words)`. */
  def sameWords(id: Int, source: Array[Long], from: Int, words: Int): Boolean =
    words == this.words(id) && Words.same(page(id), start(id), source, from, words)

  def bytes: Long = store.bytes + freed.bytes
}

private object TupleArena {
  final val PageWords = 32768 // 2^15

  /** Where rows lie. `limit` is an exclusive upper bound of the ids in use. */
  sealed abstract class Store {

    /** Gives a row `words` words. `limit` includes it. */
    def place(id: Int, words: Int, limit: Int): Unit

    /** Takes a row's words away. */
    def release(id: Int, limit: Int): Unit
    def page(id: Int): Array[Long]
    def start(id: Int): Int
    def words(id: Int): Int
    def clear(): Unit
    def bytes: Long
  }

  final class FixedStore(rowWords: Int) extends Store {
    private[this] val shift = 31 - Integer.numberOfLeadingZeros(math.max(1, PageWords / rowWords))
    private[this] val mask = (1 << shift) - 1
    private[this] var pages = new Array[Array[Long]](1)

    /** Makes room for a row: the first page grows by doubling, others start at their full size. */
    def place(id: Int, words: Int, limit: Int): Unit = {
      require(words == rowWords, s"a row of $words words in an arena of rows of $rowWords")
      val p = id >>> shift
      if (p >= pages.length) pages = Arrays.copyOf(pages, math.max(p + 1, 2 * pages.length))
      val page = pages(p)
      if (page == null || (id & mask) * rowWords >= page.length) {
        val rows = if (p > 0) mask + 1 else math.min(mask + 1, math.max(8, Integer.highestOneBit(math.max(1, id)) << 1))
        pages(p) = if (page == null) new Array[Long](rows * rowWords) else Arrays.copyOf(page, rows * rowWords)
      }
    }

    def release(id: Int, limit: Int): Unit = ()
    def page(id: Int): Array[Long] = pages(id >>> shift)
    def start(id: Int): Int = (id & mask) * rowWords
    def words(id: Int): Int = rowWords
    def clear(): Unit = pages = new Array[Array[Long]](1)
    def bytes: Long = { var n = 0L; for (p <- pages if p != null) n += 8L * p.length; n }
  }

  final class VaryingStore extends Store {
    // address = page * PageWords + start; an oversized row starts its own page at 0
    private[this] val addresses = new PagedInts
    private[this] val sizes = new PagedInts // words + 1; 0 if the id is free
    private[this] var pages = new Array[Array[Long]](1)
    private[this] var last = -1 // the page that is being filled; −1 if there is none
    private[this] var used = PageWords // words of that page; PageWords if it takes no further row
    private[this] var liveWords = 0L
    private[this] var deadWords = 0L

    def place(id: Int, words: Int, limit: Int): Unit = {
      put(id, words)
      liveWords += words
    }

    /** Assigns a row the words behind the last row, or a new page if the last one has no room for
      * it. The first page starts small and grows; an oversized row's page takes no other row.
      */
    private def put(id: Int, words: Int): Unit = {
      val oversized = words > PageWords
      if (oversized || last < 0 || used == PageWords || used + words > PageWords) {
        require(last + 1 < (1 << 16), "an arena holds 16 GB of rows at most")
        last += 1
        if (last >= pages.length) pages = Arrays.copyOf(pages, math.max(last + 1, 2 * pages.length))
        pages(last) = new Array[Long](if (oversized) words else if (last == 0) math.max(64, words) else PageWords)
        used = 0
      } else if (used + words > pages(last).length)
        pages(last) = Arrays.copyOf(pages(last), math.min(PageWords, math.max(used + words, 2 * pages(last).length)))
      addresses(id) = last * PageWords + used
      sizes(id) = words + 1
      used = if (oversized) PageWords else used + words
    }

    /** Notes the words of a freed row as unused; rows are moved together once too many are. */
    def release(id: Int, limit: Int): Unit = {
      val w = words(id)
      liveWords -= w
      deadWords += w
      sizes(id) = 0
      if (deadWords > liveWords + PageWords) compact(limit)
    }

    /** Copies the rows that are not free to new pages, in the order of their ids. */
    private def compact(limit: Int): Unit = {
      val old = pages
      pages = new Array[Array[Long]](1)
      last = -1
      used = PageWords
      deadWords = 0
      var id = 0
      while (id < limit) {
        if (sizes(id) != 0) {
          val from = addresses(id)
          put(id, sizes(id) - 1)
          System.arraycopy(old(from >>> 15), from & (PageWords - 1), page(id), start(id), words(id))
        }
        id += 1
      }
    }

    def page(id: Int): Array[Long] = pages(addresses(id) >>> 15)
    def start(id: Int): Int = addresses(id) & (PageWords - 1)
    def words(id: Int): Int = sizes(id) - 1

    def clear(): Unit = {
      pages = new Array[Array[Long]](1)
      last = -1; used = PageWords; liveWords = 0; deadWords = 0
      addresses.clear(); sizes.clear()
    }

    def bytes: Long = { var n = addresses.bytes + sizes.bytes; for (p <- pages if p != null) n += 8L * p.length; n }
  }
}
