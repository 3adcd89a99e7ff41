package io.joinless.engine.reduce

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Totals over triangles, against nested loops and against path counts from hash maps. */
class CycleSumsSpec extends AnyFunSuite {

  test("oracle_batches: sums over cycles of three, with relations that hang on them, of at least 20,000 batches") {
    val played = new PlayedCases
    var hung = 0
    var seed = 0L
    while (played.batches < 20000) {
      val query = ReducedCase.drawTotal(seed)
      assert(query.isTotal, s"seed $seed")
      played.play(query).foreach(what => fail(s"seed $seed, $what; ${query.reduction}"))
      if (query.of.relations.size > 3) hung += 1
      seed += 1
    }
    info(s"$seed queries ($hung with further relations), $played")
    import played.{batches, emptied, rehearsals, results}
    assert(hung > seed / 2 && results > batches / 20 && rehearsals > batches / 8 && emptied > seed / 2)
  }

  test("hubs that come and go: the total after every change, and O(√N) steps per change") {
    for ((hubs, seed) <- Seq(1, 2, 4).zipWithIndex) {
      val triangles = new HubTriangles
      val random = new Random(seed.toLong)
      for (size <- Seq(1000, 4000, 16000)) {
        var heavy, paths = 0
        val changes = size * 4
        val (steps, walked) = (triangles.steps, triangles.walked)
        for (i <- 0 until changes) {
          triangles.change(random, hubs, size, grows = i / size % 2 == 0)
          assert(triangles.total == triangles.expected, s"$hubs hubs, size $size, change $i")
          val sizes = triangles.sizes
          heavy += sizes.map(_._1).sum
          paths = math.max(paths, sizes.map(_._2).sum)
        }
        val perChange = (triangles.steps - steps).toDouble / changes
        info(
          f"$hubs hubs, $size rows, √N = ${math.sqrt(size.toDouble)}%.0f: $perChange%.1f steps per change, " +
            f"${(triangles.walked - walked).toDouble / changes}%.1f by the shorter list; " +
            f"${heavy.toDouble / changes}%.1f heavy values, up to $paths pairs in views"
        )
        assert(perChange < math.sqrt(size.toDouble), s"$hubs hubs, size $size: $perChange steps per change")
        assert(heavy > changes / 10 && paths > 0 || size == 1000, "no value was heavy")
      }
      triangles.clear()
      assert(triangles.isEmpty)
    }
  }

  test("small borders: values become heavy and light all the time, with multiplicities") {
    for (seed <- 0L until 300L) HubTriangles.failure(seed).foreach(what => fail(s"seed $seed, $what"))
  }

  test("an edge between two hubs: a constant number of steps, where a delta query joins their lists") {
    val n = 4000
    val triangles = new HubTriangles
    // S(0, c) and T(c, 0) for all c: R(0, 0) closes n triangles
    for (c <- 0 until n) { triangles.change(1, 0, c, 1); triangles.change(2, c, 0, 1) }
    val before = triangles.steps
    for (_ <- 0 until 100) { triangles.change(0, 0, 0, 1); triangles.change(0, 0, 0, -1) }
    assert(triangles.total == 0)
    triangles.change(0, 0, 0, 1)
    assert(triangles.total == n)
    val perChange = (triangles.steps - before) / 201.0
    info(f"$perChange%.1f steps per change, where both lists have $n rows")
    assert(perChange < 12)
  }
}
