package io.joinless.spark.state.times

import io.joinless.engine.tuples.{IntStack, PagedLongs, TimingWheel}

/** The times of a cell's rows, per relation in which rows have one. They are in wheels, but for
  * those of the last batch, which are kept apart until it is final, so that the batch can be rolled
  * back.
  *
  * @param ends per relation, whether its rows have a time
  */
final private[state] class RowTimes(ends: IndexedSeq[Boolean]) {
  private[this] var wheels = newWheels
  private[this] val insertedRelations = new IntStack
  private[this] val insertedRows = new IntStack
  private[this] val insertedUntil = new PagedLongs

  /** A wheel for each relation whose rows have a time; null for others. */
  private def newWheels = ends.map(if (_) new TimingWheel else null).toArray

  /** Number of times in wheels. */
  def size: Long = wheels.iterator.filter(_ != null).map(_.size.toLong).sum

  /** Drops all times. */
  def reset(): Unit = {
    wheels = newWheels
    clear()
  }

  /** Whether rows of the relation have a time. */
  def has(relation: Int): Boolean = wheels(relation) != null

  /** The last batch inserted a row with this time. */
  def inserted(relation: Int, row: Int, until: Long): Unit = {
    insertedUntil(insertedRows.size) = until
    insertedRelations.push(relation)
    insertedRows.push(row)
  }

  /** Calls `f` with relation, row and time of each row that the last batch inserted. */
  @inline def eachInserted(f: (Int, Int, Long) => Unit): Unit = {
    var i = 0
    while (i < insertedRows.size) { f(insertedRelations(i), insertedRows(i), insertedUntil(i)); i += 1 }
  }

  /** Puts a row's time into the wheel of the relation. */
  def put(relation: Int, row: Int, until: Long): Unit = wheels(relation).put(until, row)

  /** Drops the times of the last batch: they are in wheels by now, or rolled back. */
  def clear(): Unit = {
    insertedRelations.clear()
    insertedRows.clear()
  }

  /** Calls `f` with relation and row of each time in wheels that has passed. */
  def advance(watermark: Long)(f: (Int, Int) => Unit): Unit =
    for (relation <- wheels.indices if has(relation)) wheels(relation).advance(watermark)(f(relation, _))

  /** The least time after `watermark`; the greatest long if there is none. */
  def next(watermark: Long): Long = next(watermark, (_, wheel) => wheel.next)

  /** As `next`, of times that are still wanted, by relation, time and row. */
  def next(watermark: Long, isWanted: (Int, Long, Int) => Boolean): Long =
    next(watermark, (relation, wheel) => wheel.next(isWanted(relation, _, _)))

  /** The least time of wheels, each of which has `first` as its least, and of the last batch's rows
    * after `watermark`.
    */
  private def next(watermark: Long, first: (Int, TimingWheel) => Long): Long = {
    var least = wheels.indices.iterator.filter(has).map(r => first(r, wheels(r))).minOption.getOrElse(Long.MaxValue)
    eachInserted((_, _, until) => if (until > watermark) least = math.min(least, until))
    least
  }

  def bytes: Long =
    wheels.iterator.filter(_ != null).map(_.bytes).sum + insertedRelations.bytes + insertedRows.bytes + insertedUntil.bytes
}
