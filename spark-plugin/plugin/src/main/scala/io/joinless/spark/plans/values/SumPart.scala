package io.joinless.spark.plans.values

import java.math.BigInteger
import java.nio.ByteBuffer

import io.joinless.engine.algebra.{ExactSum, Weight}
import org.apache.spark.sql.catalyst.InternalRow

/** A part of a sum of arguments, in a row.
  *
  * @param words where the row has a number of this many 64-bit words, the lowest first, after the
  *   number of results that it sums up. None: the row's weight is that number of results, and there
  *   is nothing to add
  * @param numbers how many arguments that are not NULL each such result counts for
  * @param sums how often the number is added
  */
final case class SumPart(words: Option[Int], numbers: Int, sums: Int) {

  /** The number of columns of the part. */
  def columns: Int = words.fold(0)(1 + _)
}

object SumPart {

  /** The change of the number of arguments that are not NULL.
    *
    * @param at where the parts' columns begin
    */
  def number(parts: Seq[SumPart], row: InternalRow, at: Int, weight: Long): Long = {
    var (total, next) = (0L, at)
    for (part <- parts) {
      if (part.numbers != 0) {
        val results = if (part.words.isEmpty) weight else row.getLong(next)
        total = Weight.add(total, Weight.multiply(results, part.numbers.toLong))
      }
      next += part.columns
    }
    total
  }

  /** Adds the change of the sum of the arguments.
    *
    * @param at where the parts' columns begin
    */
  def add(sum: ExactSum, parts: Seq[SumPart], row: InternalRow, at: Int): Unit = {
    var next = at
    for (part <- parts) {
      for (words <- part.words if part.sums != 0) addWords(sum, row, next + 1, words, part.sums.toLong)
      next += part.columns
    }
  }

  /** Adds `times · n`, where n is a number in two's complement: `words` columns of 64 bits from
    * column `at` on, the lowest word first.
    */
  private def addWords(sum: ExactSum, row: InternalRow, at: Int, words: Int, times: Long): Unit = {
    val low = row.getLong(at)
    if ((1 until words).forall(i => row.getLong(at + i) == low >> 63)) sum.add(low, times)
    else {
      val bytes = ByteBuffer.allocate(8 * words)
      for (i <- words - 1 to 0 by -1) bytes.putLong(row.getLong(at + i))
      sum.add(new BigInteger(bytes.array), times)
    }
  }
}
