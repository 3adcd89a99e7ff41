package io.joinless.engine.algebra

/** What is added up over the results of a join, as elements of `width` words in arrays: a commutative ring (algorithms A46).
  *
  * The first word is a whole number that adds and multiplies as such: how many results an element stands for. An element whose first
  * word is 0 stands for none, and is 0. The other words are the ring's own: sums, or a matrix.
  *
  * Elements to be changed lie at the beginning of `into`, but for `add`.
  */
trait Ring {

  def width: Int

  /** What a row counts for that is nothing but there. */
  def one(into: Array[Long]): Unit

  def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit

  def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit

  /** As often as `times` says; −1 is the opposite. */
  def scale(into: Array[Long], times: Long): Unit

  /** What so many rows count for that are nothing but there. */
  final def results(into: Array[Long], times: Long): Unit = { one(into); scale(into, times) }
}

/** Whole numbers: how many results there are. */
object Counts extends Ring {
  override def width: Int = 1
  override def one(into: Array[Long]): Unit = into(0) = 1L
  override def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit =
    into(at) = Weight.add(into(at), summand(from))
  override def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit =
    into(0) = Weight.multiply(into(0), factor(from))
  override def scale(into: Array[Long], times: Long): Unit = into(0) = Weight.multiply(into(0), times)
}
