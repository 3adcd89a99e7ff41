package io.joinless.engine.tuples

/** Reads the ids of several keys of a row as one key, two ids per word: what a row has in all of
  * these keys is then found by one probe.
  *
  * @param parts the keys, at least two
  */
final class PackedKeys(parts: Array[TupleKeys]) extends RowReader {

  /** Words of every key. */
  val keyWords: Int = (parts.length + 1) / 2
  private[this] val read = new Array[Long](keyWords)

  override def findOrAdd(index: KeyIndex, row: Int): Int = {
    pack(read, i => parts(i).findOrAdd(row, row))
    if (keyWords == 1) index.findOrAdd(read(0)) else index.findOrAdd(read, keyWords)
  }

  override def hash(row: Int): Int = {
    pack(read, i => parts(i).findOrAdd(row, row))
    if (keyWords == 1) KeyIndex.hash(read(0)) else KeyIndex.hash(read, 0, keyWords)
  }

  /** The id of the key whose i-th part is `ids(at(i))`; −1 if `index` has none.
    *
    * @param buffer of the caller, with room for the words: several may search at the same time
    */
  def find(index: KeyIndex, ids: Array[Int], at: Array[Int], buffer: Array[Long]): Int = {
    pack(buffer, i => ids(at(i)))
    if (keyWords == 1) index.find(buffer(0)) else index.find(buffer, keyWords)
  }

  /** Writes the ids of all parts to the beginning of an array. */
  @inline private def pack(into: Array[Long], id: Int => Int): Unit = {
    var i = 0
    while (i < parts.length) {
      val word = id(i).toLong << ((i & 1) << 5)
      into(i >>> 1) = if ((i & 1) == 0) word else into(i >>> 1) | word
      i += 1
    }
  }
}
