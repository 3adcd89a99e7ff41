package io.joinless.engine.tuples

import java.util.Arrays

/** A field that is copied into another row.
  *
  * @param variable its word is the offset and the size in bytes of its data ([[KeyReader]])
  * @param dataWords words of its data if that is the same in all rows; 0 if it follows from its
  *     bytes
  */
final case class ProjectedField(ordinal: Int, variable: Boolean, dataWords: Int = 0)

/** A projection of rows to some fields, as rows of their own in the format of [[KeyReader]]: equal
  * fields are equal words.
  */
final class RowProjection(arena: TupleArena, rowFields: Int, fields: Array[ProjectedField]) extends RowReader {
  private[this] val rowNullWords = (rowFields + 63) / 64
  private[this] val nullWords = (fields.length + 63) / 64
  private[this] val fixedWords = RowProjection.fixedWords(fields.length)
  private[this] var buffer = new Array[Long](math.max(8, 2 * fixedWords))

  /** The id of the row's projection in `index`; a new one is added. The empty projection is one row
    * of one zero word.
    */
  override def findOrAdd(index: KeyIndex, row: Int): Int = {
    val words = fill(arena.page(row), arena.start(row))
    if (fields.length == 0) index.findOrAdd(0L) else index.findOrAdd(buffer, words)
  }

  /** The hash by which an index finds the row's projection. */
  override def hash(row: Int): Int = {
    val words = fill(arena.page(row), arena.start(row))
    if (fields.length == 0) KeyIndex.hash(0L) else KeyIndex.hash(buffer, 0, words)
  }

  /** Writes the projection of the row that begins at `start` of `page` to `buffer`, and returns its
    * number of words. Data of variable fields is packed behind the fixed words.
    */
  private def fill(page: Array[Long], start: Int): Int = {
    Arrays.fill(buffer, 0, fixedWords, 0L)
    var end = fixedWords
    var f = 0
    while (f < fields.length) {
      val field = fields(f)
      val isNull = (page(start + (field.ordinal >>> 6)) >>> (field.ordinal & 63) & 1L) != 0
      if (isNull) buffer(f >>> 6) |= 1L << (f & 63)
      else {
        val word = page(start + rowNullWords + field.ordinal)
        if (field.variable) {
          val words = if (field.dataWords > 0) field.dataWords else (word.toInt + 7) >>> 3
          if (end + words > buffer.length) buffer = Arrays.copyOf(buffer, 2 * (end + words))
          System.arraycopy(page, start + ((word >>> 32) >>> 3).toInt, buffer, end, words)
          buffer(nullWords + f) = (8L * end) << 32 | word & 0xffffffffL
          end += words
        } else buffer(nullWords + f) = word
      }
      f += 1
    }
    end
  }
}

object RowProjection {

  /** Words of a row before any data: at least one. */
  def fixedWords(fields: Int): Int = math.max(1, (fields + 63) / 64 + fields)
}
