package io.joinless.engine.orders

import scala.util.hashing.byteswap64

/** The orders in force of a bag: what walks have seen, and which relation follows which.
  *
  * A walk from a changed row of R(a,b) ⋈ S(b,c) ⋈ T(c,a) that binds S reports the length of the
  * list of S by b, and which share of its rows agrees with R; then the probe of T. Averages of
  * these reports are the weights of a [[CostGraph]], from which the next walk reads its order.
  *
  * Some walks have random orders, so that an order that was bad is seen again if it is good now.
  * Which ones depends on their number alone: the same walks have the same orders in every run.
  *
  * Nothing here is recorded, and no result depends on it.
  *
  * @param attributesOf the attributes of each relation, as bits; `CostGraph.fits` them
  */
final class Orders(attributesOf: Array[Long], parameters: OrderChoice.Adaptive) {
  private[this] val n = attributesOf.length

  /** The expected costs, for reading. */
  val graph = new CostGraph(attributesOf, parameters.sums, parameters.bounds)
  private[this] val lengths = new Averages(n * n, parameters.lengthWeight, parameters.ratio, parameters.patience)
  private[this] val shares = new Averages(graph.steps, parameters.shareWeight, parameters.ratio, patience = 0)
  private[this] var walks = 0L
  private[this] var draws = 0L

  /** Begins a walk that reports what it sees.
    *
    * @return whether it has a random order
    */
  def begin(): Boolean = {
    walks += 1
    walks <= parameters.randomFirst ||
    parameters.randomAfter > 0 && java.lang.Long.remainderUnsigned(
      byteswap64(walks),
      parameters.randomAfter.toLong
    ) == 0L
  }

  /** The relation to bind after these (bit set), which are connected and not all. */
  def next(bound: Long): Int = graph.next(bound.toInt)

  /** As `next`, any of those that can follow, in a random order. */
  def anyNext(bound: Long): Int = {
    draws += 1
    var left = graph.around(bound.toInt)
    var skip = java.lang.Long.remainderUnsigned(byteswap64(-draws), Integer.bitCount(left).toLong)
    while (skip > 0) {
      left &= left - 1
      skip -= 1
    }
    Integer.numberOfTrailingZeros(left)
  }

  /** Reports how many rows of a relation have the values of bound attributes.
    *
    * @param rows by attribute, for those that the relation shares with bound ones
    */
  def sawLists(bound: Long, relation: Int, rows: Array[Int]): Unit = {
    var from = 0
    while (from < n) {
      var common = attributesOf(from) & attributesOf(relation)
      if ((bound >>> from & 1L) != 0L && common != 0L) {
        var shortest = Int.MaxValue
        while (common != 0L) {
          shortest = math.min(shortest, rows(java.lang.Long.numberOfTrailingZeros(common)))
          common &= common - 1L
        }
        saw(from, relation, shortest)
      }
      from += 1
    }
  }

  /** Reports how many rows of a relation a probe has found; it is a look-up if there are none. */
  def sawProbe(relation: Int, rows: Int): Unit = saw(relation, relation, math.max(rows, 1))

  private def saw(from: Int, to: Int, rows: Int): Unit = {
    val i = from * n + to
    if (lengths.observe(i, rows.toDouble)) graph.setLength(from, to, lengths.inUse(i))
  }

  /** Reports how many of the rows that were looked at agree with all bound rows and with the
    * conditions.
    */
  def sawShare(bound: Long, relation: Int, rows: Int, agreeing: Int): Unit = {
    val step = graph.step(bound.toInt, relation)
    if (rows > 0 && shares.observe(step, agreeing.toDouble / rows)) graph.setShare(step, shares.inUse(step))
  }

  /** Heap held. */
  def bytes: Long = graph.bytes + lengths.bytes + shares.bytes
}

object Orders {

  /** The orders of a bag; null where the choice is another, or the bag has too many relations. */
  def of(choice: OrderChoice, attributesOf: Array[Long]): Orders = choice match {
    case parameters: OrderChoice.Adaptive if CostGraph.fits(attributesOf) => new Orders(attributesOf, parameters)
    case _ => null
  }
}
