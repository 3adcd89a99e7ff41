package io.joinless.engine.orders

import io.joinless.engine.query.Hypergraph
import io.joinless.engine.query.ShapesOfQueries.{clique, cycle}
import org.scalatest.funsuite.AnyFunSuite

/** What orders cost on streams whose large relation moves, in moves of walks (algorithms A80). The
  * table there has these numbers: the test prints it.
  */
class AdaptiveOrdersSpec extends AnyFunSuite {
  private val diamond = Hypergraph.of(Seq(0, 1), Seq(1, 2), Seq(0, 2), Seq(1, 3), Seq(2, 3))

  for {
    (name, graph) <- Seq(("triangle", cycle(3)), ("4-cycle", cycle(4)), ("diamond", diamond), ("4-clique", clique(4)))
    skewed <- Seq(false, true)
  } test(s"$name, a ${if (skewed) "skewed" else "large"} relation that moves: adaptive orders beat every fixed one") {
    val stream = new MovingHubs(graph, skewed, epochs = graph.size, changesPerEpoch = 4000)
    val (best, worst, runs) = stream.fixed
    val fewest = stream.play(OrderChoice.Fewest)
    val adaptive = stream.play(OrderChoice.Adaptive())
    val eager = stream.play(OrderChoice.Adaptive(bounds = false))
    val prompt = stream.play(OrderChoice.Adaptive(patience = 0))
    val sums = stream.play(OrderChoice.Adaptive(sums = true))
    def k(count: Long) = f"${count / 1000.0}%,.0f"
    info(s"moves in thousands: ${k(best)} to ${k(worst)} by $runs fixed orders, ${k(fewest.moves.sum)} by fewest, " +
      s"${k(adaptive.moves.sum)} by adaptive ones, ${k(prompt.moves.sum)} without delay, ${k(sums.moves.sum)} by sums")
    info(
      s"look-ups: ${k(fewest.lookups)} by fewest, ${k(adaptive.lookups)} by adaptive, ${k(prompt.lookups)} without delay"
    )
    info(s"reorders: ${adaptive.reorders}, without delay ${prompt.reorders}")
    info(s"searches: ${k(adaptive.searches)}, without bounds ${k(eager.searches)}, without delay ${k(prompt.searches)}")
    assert(Seq(adaptive, eager, prompt, sums).forall(_.results == fewest.results))
    assert(adaptive.moves == eager.moves)
    assert(fewest.moves.sum <= adaptive.moves.sum && adaptive.moves.sum <= best)
  }

  test("the graph counts in the bytes of a tree, and is there only where orders adapt") {
    def tree(choice: OrderChoice) = new MovingHubs(cycle(4), false, 1, 1).tree(choice)
    val adaptive = tree(OrderChoice.Adaptive())
    assert(adaptive.bytes - tree(OrderChoice.Fewest).bytes === adaptive.orders.bytes)
    assert(tree(OrderChoice.Fewest).orders == null && adaptive.orders.bytes > 0)
  }
}
