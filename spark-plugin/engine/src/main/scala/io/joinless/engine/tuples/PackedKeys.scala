package io.joinless.engine.tuples

/** Reads the ids of several keys of a row as one key, two ids per word: what a row has in all of
  * these keys is then found by one probe.
  *
  * @param parts the keys, at least two; memoized with the row before this one is read
  */
final class PackedKeys(parts: Array[TupleKeys]) extends RowReader {

  /** Words of every key. */
  val keyWords: Int = (parts.length + 1) / 2
  private[this] val buffer = new Array[Long](keyWords)

  override def findOrAdd(index: KeyIndex, row: Int): Int = {
    read(row)
    if (keyWords == 1) index.findOrAdd(buffer(0)) else index.findOrAdd(buffer, keyWords)
  }

  override def hash(row: Int): Int = {
    read(row)
    if (keyWords == 1) KeyIndex.hash(buffer(0)) else KeyIndex.hash(buffer, 0, keyWords)
  }

  /** The id of the key whose i-th part is `ids(at(i))`; −1 if `index` has none. */
  def find(index: KeyIndex, ids: Array[Int], at: Array[Int]): Int = {
    clear()
    var i = 0
    while (i < parts.length) { put(i, ids(at(i))); i += 1 }
    if (keyWords == 1) index.find(buffer(0)) else index.find(buffer, keyWords)
  }

  private def read(row: Int): Unit = {
    clear()
    var i = 0
    while (i < parts.length) { put(i, parts(i).findOrAdd(row, row)); i += 1 }
  }

  private def clear(): Unit = java.util.Arrays.fill(buffer, 0L)
  private def put(i: Int, id: Int): Unit = buffer(i >>> 1) |= id.toLong << ((i & 1) << 5)
}
