package io.joinless.engine.algebra

/** A commutative ring whose elements are aggregated over the results of a join (algorithms A46). An
  * element is `width` words in an array.
  *
  * The first word is an integer that adds and multiplies as such: the number of results that an
  * element stands for. An element whose first word is 0 stands for no result, and is 0. The other
  * words belong to the ring: sums, or a matrix.
  *
  * Elements to be changed lie at the beginning of `into`, except for `add`.
  */
trait Ring {

  def width: Int

  /** The element of a row that is counted only: the ring's one. */
  def one(into: Array[Long]): Unit

  def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit

  def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit

  /** Multiplies an element by the number `times`; −1 gives the opposite. */
  def scale(into: Array[Long], times: Long): Unit

  /** The element of `times` rows that are counted only. */
  final def results(into: Array[Long], times: Long): Unit = { one(into); scale(into, times) }
}

/** The ring of integers: the number of results. */
object Counts extends Ring {
  override def width: Int = 1
  override def one(into: Array[Long]): Unit = into(0) = 1L
  override def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit =
    into(at) = Weight.add(into(at), summand(from))
  override def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit =
    into(0) = Weight.multiply(into(0), factor(from))
  override def scale(into: Array[Long], times: Long): Unit = into(0) = Weight.multiply(into(0), times)
}
