package io.joinless.engine.reduce

import io.joinless.engine.algebra.{Ring, Weight}

/** The degree-1 covariance ring (algorithms A46): the number of results, the sum of each variable,
  * and the sum of each product of two variables.
  *
  * An element is (n, s, Q): s a vector, Q a symmetric matrix, whose upper half is stored row by
  * row. A result with the values x contributes (1, x, x·xᵀ). The rows of a result have different
  * variables, and 0 for the others. So x is a sum, and the product is
  * {{{
  * (n, s, Q) · (m, t, P) = (n·m, n·t + m·s, n·P + m·Q + s·tᵀ + t·sᵀ)
  * }}}
  */
final class Covariance(val variables: Int) extends Ring {
  override val width: Int = 1 + variables + variables * (variables + 1) / 2

  /** The word of Q(i, j), for i ≤ j. */
  def product(i: Int, j: Int): Int = 1 + variables + i * variables - i * (i - 1) / 2 + j - i

  def sum(i: Int): Int = 1 + i

  def one(): Array[Long] = { val element = new Array[Long](width); one(element); element }

  override def one(into: Array[Long]): Unit = {
    java.util.Arrays.fill(into, 0, width, 0L)
    into(0) = 1L
  }

  override def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit =
    for (i <- 0 until width) into(at + i) = Weight.add(into(at + i), summand(from + i))

  override def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit = {
    val (n, m) = (into(0), factor(from))
    def s(i: Int) = into(sum(i))
    def t(i: Int) = factor(from + sum(i))
    def dot(a: Long, b: Long, c: Long, d: Long) = Weight.add(Weight.multiply(a, b), Weight.multiply(c, d))
    for (i <- 0 until variables; j <- i until variables) {
      val q = product(i, j)
      into(q) = Weight.add(dot(n, factor(from + q), m, into(q)), dot(s(i), t(j), s(j), t(i)))
    }
    for (i <- 0 until variables) into(sum(i)) = dot(n, t(i), m, s(i))
    into(0) = Weight.multiply(n, m)
  }

  override def scale(into: Array[Long], times: Long): Unit =
    for (i <- 0 until width) into(i) = Weight.multiply(into(i), times)

  /** The contribution of a row that has the value `x` of one variable, and no other variable. */
  def lift(variable: Int, x: Long): Array[Long] = {
    val element = one()
    element(sum(variable)) = x
    element(product(variable, variable)) = Weight.multiply(x, x)
    element
  }
}
