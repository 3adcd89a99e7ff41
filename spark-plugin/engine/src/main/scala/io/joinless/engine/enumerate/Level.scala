package io.joinless.engine.enumerate

import io.joinless.engine.tuples.{KeyIndex, NotedKeys, PagedLongs, RecordLists}
import io.joinless.engine.view.ViewNode

/** One wheel of the odometer: binds a tuple of `node`, given a bound tuple of the node
  * `from`.
  *
  * The candidates are the list `lists` under a key: `keys(tuple of from)`, or the tuple itself if
  * it is a key (`keys` null). Without `lists` the key is the only candidate (a generalized parent).
  * A wheel advances from the newest run of a list to the oldest, and within a run from the oldest
  * record to the newest, so that it reads an array in ascending order.
  *
  * @param source the level that binds the tuple of `from`, if the key is also inlined with that
  *     tuple in its list; else null
  * @param edge the keys by which the level is entered, if some of their words are projected; else
  *     null. Pointer `keyPointers(i)` is to the word `keyOffsets(i)` of a key.
  */
final private[enumerate] class Level(
    val node: ViewNode,
    val from: Int,
    val lists: RecordLists,
    val keys: NotedKeys,
    val source: Level,
    edge: KeyIndex,
    keyPointers: Array[Int],
    keyOffsets: Array[Int],
    val residuals: Array[Residual]
) {
  val nodeId: Int = node.id
  val relations: Long = node.relations

  /** The multiplicity of each tuple; null if each counts once. */
  val weights: PagedLongs = node.multiplicity
  private[this] val width = if (lists == null) 1 else lists.width // words of a record

  // the current record is page(at); next are those up to page(end), then `beyond` records of other
  // runs, from `rest` on
  private[this] var page = new Array[Long](1)
  private[this] var at = 0
  private[this] var end = 0
  private[this] var beyond = 0
  private[this] var rest = 0

  // candidates that were offered one by one, as records of one word
  private[this] var offered = Level.NoRecords
  private[this] var offers = 0

  /** The candidates are a list, and all of them are part of results. */
  val isPlain: Boolean = lists != null && residuals == null

  /** The pointers (bit set) that the level sets when it is entered. */
  val setsOnEntry: Long = keyPointers.foldLeft(0L)((bits, p) => bits | 1L << p)

  /** The bound tuple. */
  def tuple: Int = RecordLists.tuple(page(at))

  /** The key inlined with the bound tuple in its list, from which the enumeration continues. */
  def inlinedKey: Int = RecordLists.inlinedKey(page(at))

  /** Sets the pointer to the words inlined with the tuple, if there are any. */
  def setWords(pointers: WordPointers): Unit = if (width > 1) pointers.set(nodeId, page, at + 1)

  /** Sets the pointers to the key's projected words. */
  def setKeyWords(key: Int, pointers: WordPointers): Unit = {
    val page = edge.page(key)
    val start = edge.start(key)
    var i = 0
    while (i < keyPointers.length) {
      pointers.set(keyPointers(i), page, start + keyOffsets(i))
      i += 1
    }
  }

  /** The number of candidates under the key. */
  def length(key: Int): Int = lists.count(key)

  /** Binds the first candidate; false if there is none. */
  def enter(key: Int): Boolean =
    if (lists == null) {
      page(0) = key.toLong
      true
    } else {
      val head = lists.headOf(key)
      beyond = RecordLists.length(head)
      beyond > 0 && {
        open(lists.first(key, head))
        true
      }
    }

  /** Takes one more candidate, to be bound by `enterOffered`. */
  def offer(tuple: Int): Unit = {
    if (offers == offered.length) offered = java.util.Arrays.copyOf(offered, math.max(16, 2 * offers))
    offered(offers) = tuple.toLong
    offers += 1
  }

  /** Binds the first of the candidates that were offered since the last call; false if there is none.
    */
  def enterOffered(): Boolean = {
    page = offered
    at = 0
    end = offers - 1
    beyond = 0
    offers = 0
    end >= 0
  }

  /** Binds the next candidate; false after the last one. */
  def advance(): Boolean =
    if (at < end) {
      at += width
      true
    } else
      beyond > 0 && {
        open(rest)
        true
      }

  /** Puts the current candidate and the rest of its run into `run`, and advances to the last of
    * them.
    */
  def take(run: Run): Unit = {
    run.set(nodeId, page, at, (end - at) / width + 1, width)
    at = end
  }

  /** Binds the first candidate of the run whose newest record is at `slot`; `beyond` still counts
    * its records.
    */
  private def open(slot: Int): Unit = {
    val size = lists.inLastRun(beyond)
    beyond -= size
    page = lists.page(slot)
    end = lists.at(slot)
    at = end - width * (size - 1)
    if (beyond > 0) rest = lists.below(page, at)
  }
}

private object Level {
  private val NoRecords: Array[Long] = Array.empty
}
