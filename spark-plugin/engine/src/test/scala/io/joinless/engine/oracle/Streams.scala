package io.joinless.engine.oracle

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.orders.OrderChoice
import io.joinless.engine.query.{Hypergraph, JoinTree, TreeSearch}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.update.{DeletedRows, DeltaEnumeration}
import io.joinless.engine.view._
import scala.util.Random

/** A view tree that is filled row by row, to count operations. Rows hold one long per attribute of
  * their relation.
  *
  * @param selfJoin all relations read one input: each row is stored once
  */
final class Streams(
    graph: Hypergraph,
    changelog: Boolean,
    selfJoin: Boolean = false,
    shape: Option[JoinTree] = None,
    residuals: IndexedSeq[Residual] = IndexedSeq.empty,
    orderChoice: OrderChoice = OrderChoice.Fewest
) {
  val joinTree: JoinTree = shape.getOrElse(TreeSearch.best(graph).fold(core => sys.error(core.toString), identity))

  val tree: ViewTree = {
    def input(r: Int) = InputDef(graph.edges(r).size, Rows.headWords(graph.edges(r).size), changelog)
    new ViewTree(
      BlockDef(
        if (selfJoin) IndexedSeq(input(0)) else graph.edges.indices.map(input),
        IndexedSeq.fill(graph.attributes.max + 1)(AttributeDef(nullSafe = false)),
        graph.edges.indices.map { r =>
          val keys = graph.edges(r).toIndexedSeq.zipWithIndex.map { case (a, column) =>
            a -> KeyField(column, variable = false)
          }
          RelationDef(if (selfJoin) 0 else r, keys)
        },
        joinTree
      ),
      orderChoice = orderChoice
    )
  }
  val delta = new DeltaEnumeration(tree, residuals)

  /** The maximum number of steps of one change. */
  var mostSteps = 0L
  var changes = 0L

  def steps: Long = tree.counters.steps
  def stepsPerChange: Double = steps.toDouble / changes

  /** Stores a row, for any relations of its input. */
  def store(input: Int, values: Long*): Int = {
    val arena = tree.arena(input)
    val words = Rows.encode(values.map(Option(_)).toIndexedSeq, values.map(_ => false).toIndexedSeq)
    arena.append(words, 0, words.length)
  }

  def insert(relation: Int, row: Int): Unit = counted(delta.insert(relation, row))

  def delete(relation: Int, row: Int): Unit = counted(delta.delete(relation, row))

  def add(relation: Int, values: Long*): Int = {
    val row = store(if (selfJoin) 0 else relation, values: _*)
    insert(relation, row)
    row
  }

  /** Deletes a row of an input from all its relations. */
  def remove(relations: Iterable[Int], row: Int): Unit = {
    relations.foreach(delete(_, row))
    leaving += ((tree.relation(relations.head).input, row))
  }

  /** Enumerates the remaining results of the last change, so that its deletions are complete. */
  def drain(): Unit = {
    while (delta.next()) {}
    leave()
  }

  /** Whether the results of each change are enumerated; if not, the next change completes it
    * without them.
    */
  var drains = false

  /** Deleted rows; their ids may be reused once the change after their deletion has begun. */
  private[this] val leaving = new scala.collection.mutable.ArrayBuffer[(Int, Int)]

  private def leave(): Unit = {
    leaving.foreach { case (input, row) => DeletedRows.free(tree, input, row) }
    leaving.clear()
  }

  private def counted(change: => Unit): Unit = {
    val before = steps
    change
    leave()
    changes += 1
    mostSteps = math.max(mostSteps, steps - before)
    if (drains) drain()
  }
}

object Streams {

  /** Distinct edges whose ends follow a power law, in random order. */
  def powerLaw(edges: Int, seed: Long): IndexedSeq[(Long, Long)] = {
    val random = new Random(seed)
    val vertices = math.max(10, edges / 7)
    def end(): Long = (vertices * math.pow(random.nextDouble(), 2.5)).toLong
    val names = random.shuffle(IndexedSeq.range(0L, vertices.toLong))
    val all = new scala.collection.mutable.LinkedHashSet[(Long, Long)]
    while (all.size < edges) {
      val (from, to) = (end(), end())
      if (from != to) all += ((names(from.toInt), names(to.toInt)))
    }
    all.toIndexedSeq
  }
}
