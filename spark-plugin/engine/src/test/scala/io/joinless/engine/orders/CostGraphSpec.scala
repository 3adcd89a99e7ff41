package io.joinless.engine.orders

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random

/** What is kept incrementally is what the definition says (algorithms A80). */
class CostGraphSpec extends AnyFunSuite {

  test("after each change: costs and orders from scratch, the cheapest of all orders, bounds below") {
    for (seed <- 0L until 500L) OrdersCheck.failure(seed).foreach(what => fail(s"seed $seed, $what"))
  }

  test("walks report lengths, probes, and shares after conditions") {
    for (seed <- 0L until 100L) ReportsCheck.failure(seed).foreach(what => fail(s"seed $seed, $what"))
  }

  test("the example of the class") {
    val graph = new CostGraph(Array(3L, 6L, 5L), sums = false) // R(a,b), S(b,c), T(c,a)
    graph.setLength(0, 1, 2)
    graph.setLength(0, 2, 5)
    graph.setLength(1, 1, 1)
    graph.setLength(2, 2, 1)
    graph.setShare(graph.step(3, 2), 0.1)
    assert(graph.cost(3) === 1 && graph.cost(5) === 1 && graph.cost(1) === 4 && graph.next(1) === 1)
    graph.setLength(0, 1, 6)
    assert(!graph.isExact(1) && graph.bound(1) === 4 && graph.cost(1) === 10 && graph.next(1) === 2)
    assert(graph.reorders === 1)
  }

  test("bounds save searches where statistics rise and fall more often than orders are read") {
    def searches(bounds: Boolean): Long = {
      val clique = Array(3L, 5L, 9L, 6L, 10L, 12L)
      val graph = new CostGraph(clique, sums = false, bounds)
      val random = new Random(3)
      for (i <- 1 to 20000) {
        val set = graph.connectedSets(1 + random.nextInt(graph.connectedSets.size - 1))
        val around = (0 until 6).filter(r => (graph.around(set) >>> r & 1) != 0)
        if (i % 50 == 0) graph.setLength(random.nextInt(6), random.nextInt(6), 10 * random.nextDouble())
        graph.setShare(graph.step(set, around(random.nextInt(around.size))), random.nextDouble())
        if (i % 10 == 0) { val _ = graph.next(1 << random.nextInt(6)) }
      }
      graph.searches
    }
    val (with_, without) = (searches(bounds = true), searches(bounds = false))
    info(s"$with_ searches with bounds, $without without")
    assert(3 * with_ < 2 * without)
  }

  test("graphs have up to 12 connected relations") {
    assert(CostGraph.fits(Array.fill(12)(1L)) && !CostGraph.fits(Array.fill(13)(1L)))
    assert(!CostGraph.fits(Array(1L, 2L)) && !CostGraph.fits(Array(1L, 0L)) && CostGraph.fits(Array(1L, 4L, 6L, 3L)))
    assert(Orders.of(OrderChoice.Adaptive(), Array(3L, 6L, 5L)) != null)
    assert(Orders.of(OrderChoice.Fewest, Array(3L, 6L, 5L)) == null)
    assert(Orders.of(OrderChoice.Adaptive(), Array.fill(13)(1L)) == null)
  }

  test("the same walks have the same random orders; one in a hundred is random") {
    val orders = Seq.fill(2)(new Orders(Array(3L, 6L, 5L), OrderChoice.Adaptive()))
    val walks = for (_ <- 1 to 20000) yield orders.map(o => if (o.begin()) o.anyNext(1L) else -1).distinct
    assert(walks.forall(_.size == 1))
    val random = walks.flatten.filter(_ >= 0)
    assert(random.take(50).size == 50 && random.size > 150 && random.size < 400 && random.distinct.size == 2)
  }
}
