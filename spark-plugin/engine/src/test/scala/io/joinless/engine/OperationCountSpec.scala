package io.joinless.engine

import io.joinless.engine.enumerate.{BoundField, Lookup, Residual, TooManyTests}
import io.joinless.engine.oracle.{Rows, Streams}
import io.joinless.engine.query.{BagNode, Hypergraph, RelationNode, ShapesOfQueries}
import io.joinless.engine.tuples.{FieldValues, KeyField}
import io.joinless.engine.update.ChangeBatch
import io.joinless.engine.view
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.immutable.BitSet
import scala.util.Random

/** The bounds of algorithms A5, A18 and A23, tested on counted steps of the propagation and moves
  * of the cursor, never on time.
  *
  * The numbered examples and theorems are those of CROWN ("Change Propagation Without Joins", PVLDB
  * 2023, section 6).
  */
class OperationCountSpec extends AnyFunSuite {
  import ShapesOfQueries._

  test("star: one step per change at most, whatever the changes") {
    val star4 = new Streams(star(4), changelog = true)
    val random = new Random(1)
    val present = IndexedSeq.fill(4)(scala.collection.mutable.ArrayBuffer.empty[Int])
    for (_ <- 1 to 50000) {
      val r = random.nextInt(4)
      if (present(r).nonEmpty && random.nextDouble() < 0.48) {
        val row = present(r).remove(random.nextInt(present(r).size))
        star4.remove(Seq(r), row)
      } else present(r) += star4.add(r, random.nextInt(50).toLong, random.nextInt(1000).toLong)
    }
    assert(star4.mostSteps === 1)
  }

  test("star: one move of the cursor per result, whichever relation has the long list") {
    for (sizes <- Seq(1, 2, 1000).permutations; clustered <- Seq(true, false)) {
      val star4 = new Streams(star(4), changelog = false)
      val rows = for (r <- 0 until 3; i <- 0 until sizes(r)) yield (r + 1, i)
      for ((r, i) <- if (clustered) rows else new Random(2).shuffle(rows)) star4.add(r, 7L, i.toLong)
      val before = star4.tree.counters.moves
      star4.add(0, 7L, 0L)
      var results = 0
      while (star4.delta.next()) results += 1
      assert(results === 2000)
      assert(star4.tree.counters.moves - before <= 2000 + 12, sizes)
    }
  }

  test("a condition is tested before what it does not read is combined, whichever relation changes") {
    val n = 20
    val refusing = new Residual {
      def relations = IndexedSeq(0, 3)
      def accept(rows: Array[Int]) = false
    }
    for (changed <- 0 until 4) {
      val star4 = new Streams(star(4), changelog = false, residuals = IndexedSeq(refusing))
      for (r <- 0 until 4 if r != changed; i <- 0 until n) star4.add(r, 7L, i.toLong)
      val before = star4.tree.counters.moves
      star4.add(changed, 7L, 0L)
      assert(!star4.delta.next())
      assert(star4.tree.counters.moves - before <= 2 * (n * n + n), s"relation $changed")
    }
  }

  test("example 6.11: four-hop, where joining costs n per insert, takes one step") {
    val measured = for (n <- Seq(8, 16, 32, 48)) yield {
      val l4 = new Streams(line(4), changelog = false)
      for (r <- 1 to 3; i <- 0 until n; j <- 0 until n) l4.add(r, i.toLong, j.toLong)
      val before = l4.steps
      for (i <- 0 until n; j <- 0 until n) l4.add(0, i.toLong, j.toLong)
      assert(l4.mostSteps === 2 * n)
      (l4.steps - before).toDouble / (n * n)
    }
    info(measured.map(m => f"$m%.3f").mkString("steps per insert into R1: ", ", ", ""))
    for ((m, n) <- measured.zip(Seq(8, 16, 32, 48))) assert(m === 1 + 1.0 / n)
  }

  for ((name, hops) <- Seq("L3" -> 3, "L4" -> 4))
    test(s"first in, first out, height 2 ($name): flat over three sizes") {
      val measured = for (edges <- Seq(5000, 20000, 80000)) yield {
        val stream = new Streams(line(hops), changelog = true, selfJoin = true)
        assert(stream.joinTree.height === 2)
        firstInFirstOut(stream, hops, Streams.powerLaw(edges, 3))
        stream.drain()
        assert(stream.tree.isEmpty)
        (stream.stepsPerChange, stream.mostSteps)
      }
      info(measured.map { case (m, most) => f"$m%.3f (most $most)" }.mkString("steps per change: ", ", ", ""))
      val means = measured.map(_._1)
      assert(means.max <= 1.0 && means.last <= 1.25 * means.head)
    }

  private def firstInFirstOut(stream: Streams, hops: Int, edges: IndexedSeq[(Long, Long)]): Unit = {
    val window = edges.size / 5
    val rows = new scala.collection.mutable.Queue[Int]
    for ((from, to) <- edges) {
      if (rows.size == window) stream.remove(0 until hops, rows.dequeue())
      val row = stream.store(0, from, to)
      (0 until hops).foreach(stream.insert(_, row))
      rows.enqueue(row)
    }
    while (rows.nonEmpty) stream.remove(0 until hops, rows.dequeue())
  }

  test("theorem 6.2: first in, first out, height 3, has a stream whose cost grows with the root of its size") {
    // R1(x1) R2(x1,x2) R3(x2,x3) R4(x3,x4) R5(x4)
    val query = Hypergraph.of(Seq(0), Seq(0, 1), Seq(1, 2), Seq(2, 3), Seq(3))
    val measured = for (n <- Seq(10, 20, 40, 80)) yield {
      val stream = new Streams(query, changelog = true)
      assert(stream.joinTree.height === 3)
      theorem62(stream, n)
      stream.stepsPerChange
    }
    info(measured.map(m => f"$m%.1f").mkString("steps per change for n = 10, 20, 40, 80: ", ", ", ""))
    for ((less, more) <- measured.zip(measured.tail)) assert(more >= 1.5 * less)
  }

  /** Value i of R1 and R5 is deleted when the rows i of R2 and R4 are inserted, in the middle of
    * R3's lifespan: for one moment they join.
    */
  private def theorem62(stream: Streams, n: Int): Unit = {
    val matrix = for (i <- 0 until n; j <- 0 until n) yield stream.add(2, i.toLong, j.toLong)
    val first = (0 until n).map(i => stream.add(0, i.toLong))
    val last = (0 until n).map(i => stream.add(4, i.toLong))
    val rows = for (i <- 0 until n) yield {
      val second = (0 until n).map(j => stream.add(1, i.toLong, j.toLong))
      val fourth = (0 until n).map(j => stream.add(3, j.toLong, i.toLong))
      stream.remove(Seq(0), first(i))
      stream.remove(Seq(4), last(i))
      (second, fourth)
    }
    matrix.foreach(row => stream.remove(Seq(2), row))
    for ((second, fourth) <- rows) {
      second.foreach(row => stream.remove(Seq(1), row))
      fourth.foreach(row => stream.remove(Seq(3), row))
    }
    stream.drain()
    require(stream.tree.isEmpty)
  }

  test(
    "enclosureness: the more lifespans of G1 and G3 a life of G2 encloses, the more it costs, but less than in proportion"
  ) {
    val edges = Streams.powerLaw(2000, 5)
    val measured = for (share <- Seq(0.05, 0.1, 0.2, 0.5, 1.0)) yield enclosureness(edges, (share * edges.size).toInt)
    info(measured.map(m => f"$m%.2f").mkString("steps per change of G2 for windows .05 .1 .2 .5 1: ", ", ", ""))
    assert(measured.zip(measured.tail).forall { case (less, more) => less < more })
    assert(measured.last / measured.head < 10)
  }

  /** Steps per change of G2; G1 and G3 have inserts and deletes, 20 edges for each change of G2. */
  private def enclosureness(edges: IndexedSeq[(Long, Long)], window: Int): Double = {
    val stream = new Streams(line(3), changelog = true)
    val present = Seq(0, 2).map(r => r -> Array.fill(edges.size)(-1)).toMap
    var tick = 0
    def turn(): Unit = for ((r, rows) <- present) {
      val i = tick % edges.size
      if (tick / edges.size % 2 == 0) rows(i) = stream.add(r, edges(i)._1, edges(i)._2)
      else { stream.remove(Seq(r), rows(i)); rows(i) = -1 }
    }
    val second = new scala.collection.mutable.Queue[Int]
    for ((from, to) <- edges) {
      if (second.size == window) stream.remove(Seq(1), second.dequeue())
      second.enqueue(stream.add(1, from, to))
      for (_ <- 1 to 20) { turn(); tick += 1 }
    }
    stream.steps.toDouble / (2 * edges.size)
  }

  test("same-key replacement: a leaf row replaced under a key whose parents are dead costs no steps") {
    for (parents <- Seq(10, 1000)) {
      val middle = RelationNode(1, BitSet(1, 2), IndexedSeq(leaf(0, 0, 1), leaf(2, 2, 3)))
      val stream = new Streams(line(3), changelog = true, shape = Some(middle))
      val batch = new ChangeBatch(stream.tree, IndexedSeq.empty)
      def play(changes: (Int, Long, Long, Long)*): Long = {
        val before = stream.steps
        for ((r, a, b, weight) <- changes)
          batch.add(r, 1L << r, weight, Rows.encode(IndexedSeq(Some(a), Some(b)), IndexedSeq(false, false)), 3)
        while (batch.next()) {}
        stream.steps - before
      }
      assert(play((0 until parents).map(i => (1, 7L, i.toLong, 1L)): _*) === 0)
      // the key is inserted: each parent lacks only R3 now
      assert(play((0, 1L, 7L, 1L)) === parents)
      assert(play((0, 1L, 7L, -1L), (0, 2L, 7L, 1L)) === 0)
      assert(play((0, 2L, 7L, -1L), (0, 3L, 7L, 1L), (0, 4L, 7L, 1L)) === 0)
      assert(play((0, 3L, 7L, -1L), (0, 4L, 7L, -1L), (0, 5L, 7L, 2L)) === 0)
      // another key is inserted, this one deleted
      assert(play((0, 5L, 7L, -2L), (0, 5L, 8L, 1L)) === parents)
    }
  }

  test("triangle: a change costs the shorter of two lists, whether rows are inserted or deleted") {
    for ((out, in) <- Seq(10 -> 2000, 2000 -> 10, 1 -> 3000, 300 -> 300)) {
      val triangle = new Streams(cycle(3), changelog = true, shape = Some(BagNode.of(cycle(3))))
      for (c <- 0 until out) triangle.add(1, 7L, c.toLong)
      for (c <- 0 until in) triangle.add(2, 1L, 10000L - c) // attributes are in ascending order: (a, c)
      triangle.drain()
      for (_ <- 1 to 20) {
        val before = triangle.tree.counters.moves
        val row = triangle.add(0, 1L, 7L)
        triangle.drain()
        triangle.remove(Seq(0), row)
        triangle.drain()
        val moves = triangle.tree.counters.moves - before
        assert(moves <= 2 * (6 * math.min(out, in) + 10), s"$out rows and $in rows: $moves moves")
      }
    }
  }

  test("triangle: all insertions together take O(N^1.5) moves, also at hubs") {
    for (edges <- Seq(2000, 8000, 32000); shape <- Seq("hubs", "power law")) {
      val triangle = new Streams(cycle(3), changelog = false, selfJoin = true, Some(BagNode.of(cycle(3))))
      val half = edges / 2
      val rows =
        if (shape == "hubs") IndexedSeq.tabulate(edges)(i => if (i < half) (0L, i + 1L) else (i - half + 1L, 0L))
        else Streams.powerLaw(edges, seed = 3)
      for ((from, to) <- new Random(5).shuffle(rows)) {
        val row = triangle.store(0, from, to)
        for (role <- 0 until 3) { triangle.insert(role, row); triangle.drain() }
      }
      val moves = triangle.tree.counters.moves
      assert(moves <= 3 * math.pow(edges.toDouble, 1.5), s"$edges edges, $shape: $moves moves")
    }
  }

  test("dumbbell: its state is linear in the edges, however many triangles there are") {
    val perEdge = for (vertices <- Seq(40, 80, 160)) yield {
      val dumbbell =
        new Streams(ShapesOfQueries.dumbbell, false, selfJoin = true, Some(BagNode.of(ShapesOfQueries.dumbbell)))
      for (a <- 0 until vertices; b <- 0 until vertices if a != b) { // v (v - 1) edges, and v^3 triangles
        val row = dumbbell.store(0, a.toLong, b.toLong)
        for (role <- 0 until 7) dumbbell.delta.load(role, row)
      }
      dumbbell.tree.bytes.toDouble / (vertices * (vertices - 1))
    }
    assert(perEdge.max <= 1.5 * perEdge.min, perEdge)
  }

  private def leaf(relation: Int, attributes: Int*) =
    RelationNode(relation, BitSet(attributes: _*), IndexedSeq.empty)

  test("insertions only: at most one step per tuple and child, in any order") {
    for (query <- Seq(line(3), line(4), line(5), comb, snowflake, bushy, star(6)); seed <- 1 to 5) {
      val stream = new Streams(query, changelog = false)
      val random = new Random(seed.toLong)
      for (_ <- 1 to 5000) {
        val r = random.nextInt(query.size)
        stream.add(r, query.edges(r).toSeq.map(_ => random.nextInt(40).toLong): _*)
      }
      val pairs = stream.tree.nodes.map {
        case g: view.GeneralizedViews => g.domain.size.toLong * g.childCount
        case r: view.RelationViews => r.arena.live.toLong * r.childCount
      }.sum
      assert(stream.steps <= pairs)
    }
  }

  test("delay: moves between two results do not depend on the data") {
    for (query <- Seq(line(3), line(5), comb, snowflake, bushy, star(4)); size <- Seq(100, 1000, 5000)) {
      val stream = new Streams(query, changelog = true)
      val counters = stream.tree.counters
      val random = new Random(size.toLong)
      val nodes = stream.tree.nodes.length
      var results = 0
      // about 40 rows at one hub, which join; the others are sparse and nearly all of them have no
      // match
      def values(count: Int) = {
        val hub = random.nextInt(size) < 40
        IndexedSeq.fill(count)(if (hub) 0L else random.nextInt(size).toLong)
      }
      def drain(): Unit = {
        var moves = counters.moves
        var more = true
        while (more) {
          more = stream.delta.next()
          assert(counters.moves - moves <= 2L * (nodes - 1))
          moves = counters.moves
          if (more) results += 1
        }
      }
      val rows = for (_ <- 1 to size) yield {
        val r = random.nextInt(query.size)
        val row = stream.store(r, values(query.edges(r).size): _*)
        stream.delta.insert(r, row)
        drain()
        (r, row)
      }
      for ((r, row) <- random.shuffle(rows)) { stream.delta.delete(r, row); drain() }
      assert(results > 100)
    }
  }

  test("look-ups by a key cost their results, whatever the size of the tree") {
    for (size <- Seq(100, 1000, 10000)) {
      val stream = new Streams(line(3), changelog = false)
      stream.drains = true
      // a key in the middle has two rows on each side; the other rows are many
      for (i <- 0 until size; r <- 0 until 3; copy <- 0 until 2)
        stream.add(r, if (r == 0) 2L * i + copy else i.toLong, if (r == 2) 2L * i + copy else i.toLong)
      def found(relation: Int, column: Int, values: Long*) = {
        val words = values.map(v => Option(IndexedSeq(v))).toSet[FieldValues.Value]
        val field = KeyField(column, variable = false)
        val lookup = new Lookup(stream.tree, IndexedSeq.empty, IndexedSeq(BoundField(relation, field, words)))
        val moves = stream.tree.counters.moves
        val results = Iterator.continually(lookup.next()).takeWhile(identity).size
        (results, stream.tree.counters.moves - moves, lookup.costsResults)
      }
      val (one, moves, byKey) = found(1, 0, 7L)
      assert(one == 8 && moves <= 2 * 3 * 9 && byKey)
      assert(found(2, 0, 7L, 8L, -1L)._2 <= 2 * 3 * 20)
      val (ofEnd, scanned, endByKey) = found(0, 0, 14L)
      // the rows of one relation are looked at, not the results
      assert(ofEnd == 4 && !endByKey && scanned <= 6L * size)
      val end = BoundField(0, KeyField(0, variable = false), Set(Some(IndexedSeq(-1L))))
      assert(!new Lookup(stream.tree, IndexedSeq.empty, IndexedSeq(end), mostTests = 2L * size).next())
      intercept[TooManyTests](new Lookup(stream.tree, IndexedSeq.empty, IndexedSeq(end), mostTests = size - 1L).next())
    }
  }

  test("space: linear in the rows, though the result is quadratic") {
    val measured = for (n <- Seq(20, 40, 80)) yield {
      val stream = new Streams(line(3), changelog = false)
      for (r <- 0 until 3; i <- 0 until n; j <- 0 until n) stream.add(r, i.toLong, j.toLong)
      val tree = stream.tree
      assert(tree.rows === 3L * n * n)
      assert(tree.keys <= 2L * n && tree.liveTuples <= tree.rows + tree.keys)
      tree.bytes.toDouble / tree.rows
    }
    info(measured.map(m => f"$m%.0f").mkString("bytes per row: ", ", ", ""))
    assert(measured.last <= 1.5 * measured.head)
  }
}
