package io.joinless.engine.tuples

/** Some words of an input's rows, inlined with the rows in lists ([[RecordLists]]). An enumeration
  * of a list reads the projected fields in memory order, instead of reading each row from the
  * arena.
  *
  * A NULL has a word, too, which does not say that it is one. If there is any NULL, rows must be
  * read.
  *
  * @param rowFields fields of every row (format: [[KeyReader]])
  * @param fields ordinals, of fixed width
  */
final class InlinedWords(arena: TupleArena, rowFields: Int, fields: Array[Int]) {
  private[this] val nullWords = (rowFields + 63) / 64
  private[this] var nulls = false

  /** The number of words inlined with a row. */
  val width: Int = fields.length

  /** The position, among the inlined words, of the word at this offset in a row; −1 if it is none of
    * them.
    */
  def indexOf(wordOfRow: Int): Int = fields.indexOf(wordOfRow - nullWords)

  /** Whether a NULL was among the copied words. */
  def anyNull: Boolean = nulls

  /** Copies the words of a row's fields to `into`, from `at` on, and notes whether any is a NULL.
    */
  def copy(row: Int, into: Array[Long], at: Int): Unit = {
    val page = arena.page(row)
    val start = arena.start(row)
    var i = 0
    while (i < fields.length) {
      val f = fields(i)
      into(at + i) = page(start + nullWords + f)
      if ((page(start + (f >>> 6)) >>> (f & 63) & 1L) != 0L) nulls = true
      i += 1
    }
  }

  /** Whether `words` are those of the row. For checks. */
  def are(row: Int, words: Array[Long], at: Int): Boolean =
    fields.indices.forall(i => words(at + i) == arena.page(row)(arena.start(row) + nullWords + fields(i)))
}
