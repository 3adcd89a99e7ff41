package io.joinless.engine.tuples

import java.util.Arrays

/** The position of an attribute's value in a row: field `ordinal`. If `variable`, the field's word
  * is (byte offset of the data from the start of the row << 32 | byte size), as in Spark's
  * UnsafeRow.
  */
final case class KeyField(ordinal: Int, variable: Boolean)

/** Reads the key of a row on some of its attributes, as words that are equal exactly if the keys
  * are.
  *
  * Row format: null bits in ⌈fields/64⌉ words, one word per field, then the data of variable
  * fields, 8-byte aligned and zero padded. Key format: null bits in ⌈attributes/64⌉ words if some
  * attribute is `nullSafe` (NULL is a value there), then per attribute its word, or for a variable
  * field its size in bytes and its data. A NULL is a zero word.
  */
final class KeyReader(arena: TupleArena, rowFields: Int, fields: Array[KeyField], nullSafe: Array[Boolean])
    extends RowReader {
  private[this] val nullWords = (rowFields + 63) / 64
  private[this] val keyNullWords = KeyReader.nullWords(nullSafe)
  private[this] var buffer = new Array[Long](math.max(4, 2 * fields.length + keyNullWords))
  private[this] val singleWord = if (fields.length == 1) nullWords + fields(0).ordinal else -1

  /** Words of every key, 0 if keys vary in length. */
  val keyWords: Int = KeyReader.keyWords(fields.map(_.variable), nullSafe)
  // two words of values, the most common multi-column key
  private[this] val isPair = keyWords == 2 && keyNullWords == 0

  /** The id of the row's key in `index`; a new key is added. `index` must be one of keys with
    * `keyWords` words.
    */
  override def findOrAdd(index: KeyIndex, row: Int): Int = {
    val page = arena.page(row)
    val start = arena.start(row)
    if (keyWords == 1) index.findOrAdd(page(start + singleWord))
    else if (isPair) index.findOrAdd(word(page, start, fields(0).ordinal), word(page, start, fields(1).ordinal))
    else { val n = fill(page, start); index.findOrAdd(buffer, n) }
  }

  /** The hash by which an index finds the row's key. */
  override def hash(row: Int): Int = {
    val page = arena.page(row)
    val start = arena.start(row)
    if (keyWords == 1) KeyIndex.hash(page(start + singleWord))
    else if (isPair) KeyIndex.hash(word(page, start, fields(0).ordinal), word(page, start, fields(1).ordinal))
    else { val n = fill(page, start); KeyIndex.hash(buffer, 0, n) }
  }

  /** The id of the row's key in `index`; −1 if absent. */
  def find(index: KeyIndex, row: Int): Int = find(index, arena.page(row), arena.start(row))

  /** The same for a row outside of the arena: its words begin at `start` of `page`. */
  def find(index: KeyIndex, page: Array[Long], start: Int): Int =
    if (keyWords == 1) index.find(page(start + singleWord))
    else { val n = fill(page, start); index.find(buffer, n) }

  /** The word of a field, 0 if it is NULL. */
  private def word(page: Array[Long], start: Int, ordinal: Int): Long =
    if ((page(start + (ordinal >>> 6)) >>> (ordinal & 63) & 1L) != 0L) 0L else page(start + nullWords + ordinal)

  /** Writes the key of the row that begins at `start` of `page` to the beginning of `buffer`, and
    * returns its number of words. A variable NULL has the size 0 and no data.
    */
  private def fill(page: Array[Long], start: Int): Int = {
    var n = 0
    while (n < keyNullWords) { buffer(n) = 0L; n += 1 }
    var f = 0
    while (f < fields.length) {
      val ordinal = fields(f).ordinal
      val isNull = (page(start + (ordinal >>> 6)) >>> (ordinal & 63) & 1L) != 0
      val word = if (isNull) 0L else page(start + nullWords + ordinal)
      if (isNull && keyNullWords > 0) buffer(f >>> 6) |= 1L << (f & 63)
      if (fields(f).variable) {
        val size = word.toInt
        val dataWords = (size + 7) >>> 3
        // room for this field, and more than enough for the words of all others
        if (n + 1 + dataWords + 2 * fields.length > buffer.length)
          buffer = Arrays.copyOf(buffer, 2 * (n + 1 + dataWords + 2 * fields.length))
        buffer(n) = size.toLong
        System.arraycopy(page, start + ((word >>> 32) >>> 3).toInt, buffer, n + 1, dataWords)
        n += 1 + dataWords
      } else {
        buffer(n) = word
        n += 1
      }
      f += 1
    }
    n
  }
}

object KeyReader {

  /** Words of a key over attributes of these kinds, 0 if keys vary in length. */
  def keyWords(variable: Array[Boolean], nullSafe: Array[Boolean]): Int =
    if (variable.contains(true)) 0 else variable.length + nullWords(nullSafe)

  /** The number of null-bit words at the start of a key. */
  def nullWords(nullSafe: Array[Boolean]): Int =
    if (nullSafe.contains(true)) (nullSafe.length + 63) / 64 else 0
}
