package io.joinless.engine.orders

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.oracle.Streams
import io.joinless.engine.query.BagNode
import io.joinless.engine.query.ShapesOfQueries.cycle
import scala.util.Random

/** What walks report, on a triangle R(a,b), S(b,c), T(a,c) whose lengths and shares are known: a
  * row of R has some rows in S, of which a condition accepts a part, and others in T; some of them
  * meet.
  */
private[engine] object ReportsCheck {

  /** The first difference in a case of this seed; None if there is none. */
  def failure(seed: Long): Option[String] = {
    val random = new Random(seed)
    val (inS, inT, each) = (1 + random.nextInt(12), 1 + random.nextInt(12), 1 + random.nextInt(3))
    val common = random.nextInt(1 + math.min(inS, inT))
    val accepted = (0 until inS).count(_ % each == 0)
    var triangle: Streams = null
    val condition = new Residual {
      def relations = IndexedSeq(0, 1)
      def accept(rows: Array[Int]) = {
        val arena = triangle.tree.arena(1)
        arena.page(rows(1))(arena.start(rows(1)) + 2) % each == 0 // the value of c
      }
    }
    val adaptive = OrderChoice.Adaptive(patience = 2, randomFirst = inS + inT + 40, randomAfter = 0)
    triangle = new Streams(cycle(3), true, false, Some(BagNode.of(cycle(3))), IndexedSeq(condition), adaptive)
    triangle.drains = true
    for (c <- 0 until inS) triangle.add(1, 2L, c.toLong)
    for (c <- 0 until inT) triangle.add(2, 1L, (if (c < common) c else 100 + c).toLong)
    val orders = triangle.tree.orders
    for (_ <- 1 to 30) triangle.remove(Seq(0), triangle.add(0, 1L, 2L))
    triangle.drain()
    val bySFirst = inS * (1.0 + accepted.toDouble / inS)
    val byTFirst = inT * 2.0
    val cost = orders.graph.cost(1)
    // another list is longer: what is known of the walk through the first one is its cost
    orders.graph.setLength(0, 2, 1000.0)
    val through = orders.graph.cost(1)
    if (math.abs(cost - math.min(bySFirst, byTFirst)) > 1e-9)
      Some(
        s"$inS rows of S, $accepted accepted, $inT of T: $cost look-ups are expected, not ${math.min(bySFirst, byTFirst)}"
      )
    else if (math.abs(through - bySFirst) > 1e-9) Some(s"$through look-ups are expected by S, not $bySFirst")
    else None
  }
}
