package io.joinless.spark.plans

import java.math.BigInteger
import java.nio.ByteBuffer

import io.joinless.engine.algebra.{ExactSum, Weight}
import io.joinless.spark.spec.GroupShape
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** The changes of a GROUP BY: a changed group is deleted with its old values and inserted with its
  * new ones.
  *
  * Everything is positional: `child` returns the `shape.columns.size` grouping columns, then the
  * arguments of the functions, then the weight of the row (BIGINT, not NULL); `output` is the
  * grouping columns, the values of the functions, and the weight of the change (1 or −1).
  *
  * @param purpose what the groups are for, where the query has no GROUP BY for them; for explain
  * @param lag by how many microseconds times of later groups can be below the watermark, for the
  *   operators above
  */
final case class Groups(
    child: LogicalPlan,
    functions: Seq[GroupFunction],
    shape: GroupShape,
    output: Seq[Attribute],
    purpose: Option[String] = None,
    lag: Long = 0L
) extends UnaryNode {

  /** All columns of the child are needed. */
  override lazy val references: AttributeSet = child.outputSet

  override def producedAttributes: AttributeSet = AttributeSet(output)

  /** The groups, described for people. */
  def title: String = purpose.getOrElse(shape.text)

  override protected def stringArgs: Iterator[Any] = Iterator(title)

  override protected def withNewChildInternal(newChild: LogicalPlan): Groups = copy(child = newChild)
}

/** An aggregate function over the rows of a group.
  *
  * @param function Spark's function; its argument is a `BoundReference`, from which it has its
  *   types. It computes the value from the state of the group
  * @param argument the column of the groups' input that it reads; None for COUNT(*)
  * @param sum None where that column is the argument of a row; else the parts of a sum, in the
  *   columns from there on, that the row adds with its weight
  */
final case class GroupFunction(function: AggregateFunction, argument: Option[Int], sum: Option[Seq[SumPart]] = None)

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
