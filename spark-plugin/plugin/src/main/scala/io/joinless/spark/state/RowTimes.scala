package io.joinless.spark.state

import io.joinless.engine.tuples.{IntStack, PagedLongs, TimingWheel}

/** The times of a cell's rows, per relation in which rows have one: in wheels, but for those of the last batch, which stand apart until
  * they are settled, so that the batch can be taken back.
  *
  * @param ends per relation, whether its rows have a time
  */
final private[state] class RowTimes(ends: IndexedSeq[Boolean]) {
  private[this] var wheels = newWheels
  private[this] val cameRelations = new IntStack
  private[this] val cameRows = new IntStack
  private[this] val cameUntil = new PagedLongs

  private def newWheels = ends.map(if (_) new TimingWheel else null).toArray

  /** Number of times in wheels. */
  def size: Long = wheels.iterator.filter(_ != null).map(_.size.toLong).sum

  /** Forgets all times. */
  def reset(): Unit = {
    wheels = newWheels
    clear()
  }

  /** Whether rows of the relation have a time. */
  def has(relation: Int): Boolean = wheels(relation) != null

  /** In the last batch a row came whose time this is. */
  def came(relation: Int, row: Int, until: Long): Unit = {
    cameUntil(cameRows.size) = until
    cameRelations.push(relation)
    cameRows.push(row)
  }

  /** Tells `f` relation, row and time of what came in the last batch. */
  @inline def eachThatCame(f: (Int, Int, Long) => Unit): Unit = {
    var i = 0
    while (i < cameRows.size) { f(cameRelations(i), cameRows(i), cameUntil(i)); i += 1 }
  }

  def put(relation: Int, row: Int, until: Long): Unit = wheels(relation).put(until, row)

  /** Forgets what came in the last batch: it is in wheels by now, or taken back. */
  def clear(): Unit = {
    cameRelations.clear()
    cameRows.clear()
  }

  /** Tells `f` relation and row of each time that has passed, of those in wheels. */
  def advance(watermark: Long)(f: (Int, Int) => Unit): Unit =
    for (relation <- wheels.indices if has(relation)) wheels(relation).advance(watermark)(f(relation, _))

  /** The least time behind `watermark`; the greatest long where there is none. */
  def next(watermark: Long): Long = next(watermark, (_, wheel) => wheel.next)

  /** The same of relation, time and row that are still wanted. */
  def next(watermark: Long, isWanted: (Int, Long, Int) => Boolean): Long =
    next(watermark, (relation, wheel) => wheel.next(isWanted(relation, _, _)))

  private def next(watermark: Long, first: (Int, TimingWheel) => Long): Long = {
    var least = wheels.indices.iterator.filter(has).map(r => first(r, wheels(r))).minOption.getOrElse(Long.MaxValue)
    eachThatCame((_, _, until) => if (until > watermark) least = math.min(least, until))
    least
  }

  def bytes: Long =
    wheels.iterator.filter(_ != null).map(_.bytes).sum + cameRelations.bytes + cameRows.bytes + cameUntil.bytes
}
