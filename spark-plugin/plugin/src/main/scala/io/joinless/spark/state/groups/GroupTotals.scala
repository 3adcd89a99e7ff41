package io.joinless.spark.state.groups

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}
import java.nio.ByteBuffer

import io.joinless.engine.algebra.Weight
import org.apache.spark.sql.catalyst.InternalRow

/** The state of one group, or its change by a batch: the number of its rows, and for each aggregate
  * function with an argument an [[Accumulator]].
  *
  * Changes are added, in any order; those by some rows and by the same rows with the opposite
  * weights add up to nothing.
  *
  * '''Durable format''' ([[io.joinless.spark.spec.GroupFormat]] 1): the number of rows as a long,
  * then the bytes of each accumulator.
  */
final class GroupTotals private (val accumulators: Array[Accumulator]) {
  private[this] var count = 0L

  /** The number of rows of the group; it exists if this is not 0. */
  def rows: Long = count

  /** Adds a row of the groups' input, `weight` times. */
  def add(row: InternalRow, weight: Long): Unit = {
    count = Weight.add(count, weight)
    var i = 0
    while (i < accumulators.length) {
      accumulators(i).add(row, weight)
      i += 1
    }
  }

  /** Loads state that is not written with the totals.
    *
    * @param values for the accumulator of that number, the values that the group holds
    */
  def load(values: Int => HeldValues): Unit = for (i <- accumulators.indices) accumulators(i).load(values(i))

  /** Adds the changes of a batch.
    *
    * @param values for the accumulator of that number, the values that the group holds
    */
  def change(batch: GroupTotals, values: Int => GroupValuesKept): Unit = {
    count = Weight.add(count, batch.rows)
    for (i <- accumulators.indices) batch.accumulators(i) match {
      case changes: ValueChanges => changes.applyTo(accumulators(i), values(i))
      case other => accumulators(i).add(other)
    }
  }

  /** Adds totals that were written, of the same form. */
  def add(bytes: Array[Byte]): Unit = {
    val in = new DataInputStream(new ByteArrayInputStream(bytes))
    count = Weight.add(count, in.readLong())
    accumulators.foreach(_.add(in))
    if (in.available() > 0) throw new IllegalStateException(s"${in.available()} bytes behind the totals of a group")
  }

  /** The totals in the durable format. */
  def toBytes: Array[Byte] = {
    val bytes = new ByteArrayOutputStream(8 + 24 * accumulators.length)
    val out = new DataOutputStream(bytes)
    out.writeLong(count)
    accumulators.foreach(_.write(out))
    bytes.toByteArray
  }
}

object GroupTotals {

  /** The number of rows in written totals. */
  def rowsIn(totals: Array[Byte]): Long = ByteBuffer.wrap(totals).getLong

  /** The totals that are stored of a group. */
  def kept(arguments: Array[GroupArgument]): GroupTotals = new GroupTotals(arguments.map(_.kept()))

  /** The change of a group by a batch. */
  def changes(arguments: Array[GroupArgument]): GroupTotals = new GroupTotals(arguments.map(_.changes()))
}
