package io.joinless.engine.orders

import io.joinless.engine.oracle.Streams
import io.joinless.engine.query.{BagNode, Hypergraph}
import io.joinless.engine.view.ViewTree
import scala.collection.mutable.Queue
import scala.util.Random

/** A stream of rows into the relations of a bag, each of which keeps its newest rows. In each epoch
  * another relation is large: it keeps ten times as many rows (four times, if skewed), and grows
  * while the one before shrinks.
  *
  * @param skewed the rows that make a relation large have one of ten values in its first column,
  *   which are frequent in all relations; else their values are as in other relations
  */
final private[engine] class MovingHubs(graph: Hypergraph, skewed: Boolean, epochs: Int, changesPerEpoch: Int) {
  private val values = 150

  /** The rows in their order. */
  private val rows: IndexedSeq[(Int, Long, Long, Int)] = {
    val random = new Random(7)
    def value(most: Int) = (most * math.pow(random.nextDouble(), if (skewed) 2.0 else 1.0)).toLong
    for (epoch <- 0 until epochs; _ <- 0 until changesPerEpoch) yield {
      val large = epoch % graph.size
      val relation = if (random.nextInt(3) == 0) large else random.nextInt(graph.size)
      val isHub = relation == large
      val first = if (isHub && skewed && random.nextInt(10) > 0) random.nextInt(10).toLong else value(values)
      (relation, first, value(values), if (!isHub) 150 else if (skewed) 600 else 1500)
    }
  }

  private def empty(choice: OrderChoice) =
    new Streams(graph, changelog = true, shape = Some(BagNode.of(graph)), orderChoice = choice)

  /** A tree without rows. */
  def tree(choice: OrderChoice): ViewTree = empty(choice).tree

  /** Plays the stream; all results of all changes are enumerated. */
  def play(choice: OrderChoice): MovingHubs.Cost = {
    val stream = empty(choice)
    stream.drains = true
    val counters = stream.tree.counters
    val present = IndexedSeq.fill(graph.size)(Queue.empty[Int])
    val moves = new Array[Long](graph.size)
    for ((relation, a, b, most) <- rows) {
      val before = counters.moves
      present(relation).enqueue(stream.add(relation, a, b))
      // a relation that is no longer large shrinks by two rows for each one
      for (_ <- 0 until 2 if present(relation).size > most)
        stream.remove(Seq(relation), present(relation).dequeue())
      moves(relation) += counters.moves - before
    }
    stream.drain()
    val searches = Option(stream.tree.orders).fold(0L)(_.graph.searches)
    MovingHubs.Cost(moves.toIndexedSeq, counters.lookups, counters.reorders, searches, counters.results)
  }

  /** The fixed orders that differ for walks, for each relation that changes. */
  private val orders: IndexedSeq[IndexedSeq[IndexedSeq[Int]]] = graph.edges.indices.map { start =>
    val others = graph.edges.indices.filter(_ != start)
    others.permutations.toIndexedSeq.distinctBy(choices(start, _))
  }

  /** The relations that an order is asked for, one after the other: not those that are probed. */
  private def choices(start: Int, order: IndexedSeq[Int]): IndexedSeq[Int] = {
    var bound = graph.edges(start)
    val chosen = IndexedSeq.newBuilder[Int]
    def open = order.filter(r => !graph.edges(r).subsetOf(bound))
    while (open.nonEmpty) {
      val next = open.find(r => (graph.edges(r) & bound).nonEmpty).get
      chosen += next
      bound = bound | graph.edges(next)
    }
    chosen.result()
  }

  /** The least and the most moves of fixed orders, chosen for each relation after the fact. */
  lazy val fixed: (Long, Long, Int) = {
    val runs = for (i <- 0 until orders.map(_.size).max)
      yield play(OrderChoice.Fixed(orders.map(of => of(i % of.size)))).moves
    val byStart = graph.edges.indices.map(r => runs.map(_(r)))
    (byStart.map(_.min).sum, byStart.map(_.max).sum, runs.size)
  }
}

private[engine] object MovingHubs {

  /** What a choice costs: moves of walks, by the relation that changed; look-ups, and so on. */
  final case class Cost(moves: IndexedSeq[Long], lookups: Long, reorders: Long, searches: Long, results: Long)
}
