package io.joinless.engine.tuples

/** Some words of the rows of an input, as they lie beside rows in lists ([[RecordLists]]): whoever walks a list finds there, one behind the
  * other, what is asked of its rows, and need not read one row here and the next one there.
  *
  * A NULL has a word, too, which does not say that it is one: where there is any, rows are to be read.
  *
  * @param rowFields fields of every row (format: [[KeyReader]])
  * @param fields ordinals, of fixed width
  */
final class ShownWords(arena: TupleArena, rowFields: Int, fields: Array[Int]) {
  private[this] val nullWords = (rowFields + 63) / 64
  private[this] var nulls = false

  /** Words beside a row. */
  val width: Int = fields.length

  /** There was a NULL among the words that were copied. */
  def anyNull: Boolean = nulls

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

  /** They are those of the row. For checks. */
  def are(row: Int, words: Array[Long], at: Int): Boolean =
    fields.indices.forall(i => words(at + i) == arena.page(row)(arena.start(row) + nullWords + fields(i)))
}
