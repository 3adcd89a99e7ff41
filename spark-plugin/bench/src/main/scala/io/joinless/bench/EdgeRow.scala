package io.joinless.bench

import io.joinless.engine.tuples.KeyField
import io.joinless.engine.view.InputDef

/** The encoding of an edge as a row: its columns, and which of them identify its ends. Two vertices
  * are equal if all their columns are.
  *
  * @param src columns of the vertex where the edge begins, the first of them a BIGINT that results
  *     project; `dst` those of the vertex where it ends
  */
sealed abstract class EdgeRow(val columns: Int, val src: IndexedSeq[KeyField], val dst: IndexedSeq[KeyField]) {

  /** The maximum number of words of a row. */
  def words: Int

  def input(retractable: Boolean): InputDef

  /** Writes the row of an edge; returns its number of words. */
  def write(words: Array[Long], src: Long, dst: Long): Int
}

object EdgeRow {

  /** `(src BIGINT, dst BIGINT)` */
  case object Plain
      extends EdgeRow(2, IndexedSeq(KeyField(0, variable = false)), IndexedSeq(KeyField(1, variable = false))) {
    def words: Int = 3

    def input(retractable: Boolean): InputDef = InputDef(columns, words, retractable)

    def write(words: Array[Long], src: Long, dst: Long): Int = {
      words(0) = 0L
      words(1) = src
      words(2) = dst
      3
    }
  }

  /** `(a BIGINT, dst_name STRING, b DOUBLE, src_id BIGINT, c STRING, dst_id BIGINT,
    * d BIGINT, src_name STRING, e BIGINT)`: a vertex is a number and a name of 8 to 16 bytes.
    * Columns are in another order, five of them are not read, and rows vary in length. `c`
    * is the same for all rows.
    */
  case object Wide
      extends EdgeRow(
        9,
        IndexedSeq(KeyField(3, variable = false), KeyField(7, variable = true)),
        IndexedSeq(KeyField(5, variable = false), KeyField(1, variable = true))
      ) {
    private val Head = 1 + columns

    def words: Int = Head + 6

    def input(retractable: Boolean): InputDef = InputDef(columns, fixedWords = 0, retractable)

    def write(words: Array[Long], src: Long, dst: Long): Int = {
      words(0) = 0L
      words(1) = src ^ dst
      words(3) = java.lang.Double.doubleToLongBits(src * 0.5)
      words(4) = src
      words(6) = dst
      words(7) = src + dst
      words(9) = dst - src
      var end = name(words, 2, Head, dst)
      end = name(words, 8, end, src)
      words(5) = offsetAndSize(end, bytes = 11)
      words(end) = Lorem
      words(end + 1) = Ipsum
      end + 2
    }

    /** Writes the name of a vertex behind the row's fields, and its offset and size into its field;
      * returns where the next name begins.
      */
    private def name(words: Array[Long], field: Int, at: Int, vertex: Long): Int = {
      words(at) = Prefix | digit(vertex) << 56
      if (vertex < 10) {
        words(field) = offsetAndSize(at, bytes = 8)
        at + 1
      } else {
        var rest = vertex / 10
        var digits = 0L
        var bytes = 8
        while (rest > 0) {
          digits = digits << 8 | digit(rest)
          rest /= 10
          bytes += 1
        }
        words(at + 1) = digits
        words(field) = offsetAndSize(at, bytes)
        at + 2
      }
    }

    private def digit(number: Long): Long = '0' + number % 10

    private def offsetAndSize(word: Int, bytes: Int): Long = (8L * word) << 32 | bytes

    private val Prefix = bits("vertex ") // 7 bytes
    private val Lorem = bits("lorem ip")
    private val Ipsum = bits("sum")

    private def bits(text: String): Long = text.foldRight(0L)((c, word) => word << 8 | c)
  }
}
