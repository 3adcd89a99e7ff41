package io.joinless.engine.reduce

import scala.collection.immutable.BitSet
import scala.util.Random

import io.joinless.engine.algebra.Counts
import io.joinless.engine.oracle.{Rows, Streams}
import io.joinless.engine.query.{Hypergraph, Reduction, ShapesOfQueries}
import io.joinless.engine.tuples.{KeyField, ProjectedField, RowProjection}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef}
import org.scalatest.funsuite.AnyFunSuite

/** The cost of counting without results, as counted steps, never as time. */
class SumStepsSpec extends AnyFunSuite {
  import ShapesOfQueries._

  /** A query over rows of integers, one column per attribute. */
  final private class Query(graph: Hypergraph, projected: BitSet, distinct: Boolean = false) {
    val reduction: Reduction = Reduction.best(graph, projected).fold(core => fail(core.toString), identity)

    private def keys(attributes: BitSet) = attributes.toIndexedSeq.zipWithIndex.map { case (x, i) =>
      x -> KeyField(i, variable = false)
    }

    private def block(edges: IndexedSeq[BitSet], tree: io.joinless.engine.query.JoinTree) = BlockDef(
      edges.map(e => InputDef(e.size, RowProjection.fixedWords(e.size), retractable = true)),
      IndexedSeq.fill(graph.attributes.max + 1)(AttributeDef(nullSafe = false)),
      edges.indices.map(r => RelationDef(r, keys(edges(r)))),
      tree
    )

    private val components = reduction.components.map { c =>
      val columns = ComponentDef.atRoot(c.tree).map { r =>
        r -> c.projected.toIndexedSeq.map(x => ProjectedField(graph.edges(r).toIndexedSeq.indexOf(x), variable = false))
      }
      ComponentDef(c.tree, columns.toMap, distinct)
    }

    val join = new ReducedJoin(ReducedDef(
      block(graph.edges, reduction.components.head.tree),
      components,
      block(reduction.components.map(_.projected), reduction.top),
      Counts,
      graph.edges.map(_ => None)
    ))
    private val batch = new ReducedBatch(join, IndexedSeq.empty)

    /** The change of the number of results so far, over all projected rows. */
    var results = 0L
    var mostSteps = 0L
    var changes = 0L

    def steps: Long = join.counters.steps

    /** Applies one change as a batch of its own. */
    def change(relation: Int, weight: Long, values: Long*): Unit = {
      val words = Rows.encode(values.map(Option(_)).toIndexedSeq, values.map(_ => false).toIndexedSeq)
      val before = steps
      batch.add(relation, 1L << relation, weight, words, words.length)
      while (batch.next()) results += batch.weight
      mostSteps = math.max(mostSteps, steps - before)
      changes += 1
    }
  }

  test(
    "P6: n copies of a row that joins n rows take 2 n steps each in counting, and no more than 2 where it counts once"
  ) {
    val path = Hypergraph.of(Seq(0), Seq(0, 1), Seq(1))
    for ((distinct, n) <- Seq(false, true).flatMap(d => Seq(100, 200, 400).map(d -> _))) {
      val query = new Query(path, BitSet(1), distinct)
      for (y <- 0 until n) { query.change(1, 1, 0L, y.toLong); query.change(2, 1, y.toLong) }
      query.change(0, 1, 0L)
      val before = query.steps
      for (_ <- 0 until n) query.change(0, 1, 0L)
      val perInsert = (query.steps - before).toDouble / n
      if (distinct) assert(perInsert <= 2, s"n = $n") else assert(perInsert >= n && perInsert <= 2 * n + 2, s"n = $n")
      assert(query.results === (if (distinct) n.toLong else n.toLong * (n + 1)))
    }
  }

  for ((name, projected) <- Seq("the number of results" -> BitSet.empty, "results per centre" -> BitSet(0)))
    test(s"star, $name: a bounded number of steps per change, whatever the changes") {
      val random = new Random(1)
      val query = new Query(star(4), projected)
      val present = Array.fill(4)(new scala.collection.mutable.ArrayBuffer[(Long, Long)])
      for (_ <- 0 until 20000) {
        val r = random.nextInt(4)
        if (present(r).nonEmpty && random.nextDouble() < 0.48) {
          val (a, b) = present(r).remove(random.nextInt(present(r).size))
          query.change(r, -1, a, b)
        } else {
          val row = (random.nextInt(50).toLong, random.nextInt(1000).toLong)
          present(r) += row
          query.change(r, 1, row._1, row._2)
        }
      }
      val expected = (0L until 50L).map(a => present.map(_.count(_._1 == a).toLong).product).sum
      assert(query.results === expected)
      assert(query.mostSteps <= 2)
    }

  test("insert only, counted once: at most a step per tuple and child, and one per row") {
    val random = new Random(7)
    for (
      (graph, projected) <- Seq(line(3) -> BitSet(1), line(4) -> BitSet(2), snowflake -> BitSet(0), comb -> BitSet(1))
    ) {
      val query = new Query(graph, projected, distinct = true)
      val rows = scala.collection.mutable.HashSet.empty[(Int, Seq[Long])]
      for (_ <- 0 until 20000) {
        val r = random.nextInt(graph.size)
        val row = graph.edges(r).toSeq.map(_ => random.nextInt(60).toLong)
        if (rows.add((r, row))) query.change(r, 1, row: _*)
      }
      val bound = query.reduction.components.flatMap(_.tree.preorder).map(n => n.children.size + 1).max
      assert(query.steps <= bound * 3L * rows.size, graph)
    }
  }

  test("a hub that changes often in a batch is walked once") {
    val query = new Query(line(2), BitSet(0))
    for (a <- 0 until 500) query.change(0, 1, a.toLong, 7L)
    val words = (0 until 300).map(i => Rows.encode(IndexedSeq(Some(7L), Some(i.toLong)), IndexedSeq(false, false)))
    val batch = new ReducedBatch(query.join, IndexedSeq.empty)
    val before = query.steps
    for (w <- words) batch.add(1, 2L, 1L, w, w.length)
    var results = 0L
    while (batch.next()) results += batch.weight
    assert(results === 150000L)
    assert(query.steps - before <= 300 + 500)
  }

  test("state is linear in the rows, however many results are counted") {
    val sizes = for (edges <- Seq(20000, 40000)) yield {
      val query = new Query(line(3), BitSet.empty)
      for ((a, b) <- Streams.powerLaw(edges, 3); r <- 0 until 3) query.change(r, 1, a, b)
      assert(query.results > 100L * edges)
      query.join.bytes.toDouble / edges
    }
    info(s"bytes per edge, in three relations: ${sizes.map(b => f"$b%.0f").mkString(", ")}")
    assert(sizes(1) < 1.3 * sizes(0))
  }
}
