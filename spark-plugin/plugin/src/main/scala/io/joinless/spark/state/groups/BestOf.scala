package io.joinless.spark.state.groups

import java.io.{DataInput, DataOutput}

import io.joinless.engine.algebra.Weight
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The first values of a group in an order, each with its number.
  *
  * ''Invariant'': listed values precede all others. So an inserted value is listed if it precedes a
  * listed one, or if the list has all values. The list is read from the group again only when it
  * has become too short.
  *
  * Of append-only values, the first ones are the only state. If values can be deleted, the group
  * holds each value as an entry, and the list has a few more values than are wanted. If all are
  * wanted, only their number is written: the list is read from the entries of the group.
  *
  * @param wanted the number of wanted values; None for all of them
  * @param leave values can be deleted
  */
final class BestOf(reader: ValueReader, ordering: Ordering[UnsafeRow], wanted: Option[Int], leave: Boolean)
    extends Accumulator(reader.ordinal) {
  private val listed = new java.util.TreeMap[UnsafeRow, java.lang.Long](ordering)
  private var copies = 0L // of the listed values; `count` where all values of the group are listed
  private[this] val most = wanted.map(n => if (leave) 2L * n + BestOf.Spare else n.toLong)

  /** The wanted values, each as often as it is in the group: rows of one column. */
  def first: IndexedSeq[UnsafeRow] = {
    val rows = IndexedSeq.newBuilder[UnsafeRow]
    var wantedLeft = wanted.fold(Long.MaxValue)(_.toLong)
    val entries = listed.entrySet.iterator
    while (wantedLeft > 0 && entries.hasNext) {
      val entry = entries.next()
      var n = wantedLeft.min(entry.getValue)
      wantedLeft -= n
      while (n > 0) {
        rows += entry.getKey
        n -= 1
      }
    }
    rows.result()
  }

  override protected def addValue(row: InternalRow, weight: Long): Unit = list(reader(row), weight)

  /** Lists a value, unless enough others precede it. */
  private def list(value: UnsafeRow, number: Long): Unit =
    if (most.forall(copies < _) || ordering.compare(value, listed.lastKey) < 0) {
      val before = listed.get(value)
      if (before == null) listed.put(value.copy(), number) else listed.put(value, Weight.add(before, number))
      copies = Weight.add(copies, number)
      shorten()
    } else if (listed.containsKey(value)) { // the last one
      listed.put(value, Weight.add(listed.get(value), number))
      copies = Weight.add(copies, number)
    }

  /** Removes last values that are not among the `most` first ones. */
  private def shorten(): Unit = most.foreach { n =>
    while (listed.size > 0 && copies - listed.lastEntry.getValue >= n) copies -= listed.pollLastEntry().getValue
  }

  /** Sets the number of a value in the list to `after`, if the value is listed or belongs there.
    * The list may be too short then, until `complete`.
    *
    * @param before how often the value was in the group
    * @param after how often it is now; 0 if it was deleted
    */
  override private[state] def changed(value: UnsafeRow, before: Long, after: Long): Unit = {
    val listsAll = copies == count
    count = Weight.add(count, after - before)
    if (listed.containsKey(value)) {
      copies += after - before
      if (after == 0L) listed.remove(value) else listed.put(value, after)
      shorten()
    } else if (
      listsAll || // then the value is new, and `after` above 0
      listed.size > 0 && ordering.compare(value, listed.lastKey) < 0
    ) {
      listed.put(value.copy(), after)
      copies += after
      shorten()
    }
  }

  override private[state] def complete(values: HeldValues): Unit =
    if (copies < count && wanted.forall(copies < _)) find(values)

  override private[state] def load(values: HeldValues): Unit = if (wanted.isEmpty) find(values)

  /** Lists the first of the group's values anew. */
  private def find(values: HeldValues): Unit = {
    listed.clear()
    copies = 0L
    values.read(_.foreach { case (value, number) => list(value, number) })
  }

  override def add(that: Accumulator): Unit = {
    super.add(that)
    that.asInstanceOf[BestOf].listed.forEach((value, number) => list(value, number))
  }

  override def add(in: DataInput): Unit = {
    super.add(in)
    if (wanted.isDefined)
      for (_ <- 0 until in.readInt()) list(Accumulator.readValue(in, in.readInt()), in.readLong())
  }

  override def write(out: DataOutput): Unit = {
    super.write(out)
    if (wanted.isDefined) {
      out.writeInt(listed.size)
      listed.forEach { (value, number) =>
        Accumulator.writeValue(out, value)
        out.writeLong(number)
      }
    }
  }
}

private[state] object BestOf {

  /** The list has at most this many values more than twice the wanted ones, so that a short list is
    * not read again at each change.
    */
  final private val Spare = 8
}
