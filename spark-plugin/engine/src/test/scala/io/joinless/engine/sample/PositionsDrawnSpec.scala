package io.joinless.engine.sample

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.ChosenPositions
import org.scalatest.funsuite.AnyFunSuite

/** The laws of positions that are drawn on demand. Bounds are those of a chance of 10^-4^, with
  * fixed seeds.
  */
class PositionsDrawnSpec extends AnyFunSuite {
  private val Least = 1e-4

  /** All positions, chunk by chunk. */
  private def all(chosen: ChosenPositions): Vector[BigInt] =
    Iterator.continually(chunk(chosen)).takeWhile(_.nonEmpty).flatten.toVector

  private def chunk(chosen: ChosenPositions): Vector[BigInt] = {
    val list = chosen.next()
    val positions = Vector.tabulate(list.size) { i =>
      val position = new Wide
      list.read(i, position)
      position.toBigInt
    }
    assert(positions == positions.sorted)
    positions
  }

  private def assertUniform(counts: Iterable[Int], expected: Double): Unit = {
    val x = counts.map(n => (n - expected) * (n - expected) / expected).sum
    val _ = assert(Chances.chiSquare(x, counts.size - 1) > Least, counts)
  }

  private def assertNear(seen: Double, mean: Double, deviation: Double): Unit = {
    val _ = assert(math.abs(seen - mean) < 4 * deviation, s"$seen, not $mean ± $deviation")
  }

  for (p <- Seq(0.5, 0.3, 0.01))
    test(s"thinned: each position with the chance $p, whatever happens to the others") {
      val (trials, total) = (20000, 30)
      val runs =
        (0 until trials).map(seed => all(new ThinnedPositions(p, replacement = false, seed.toLong, total)).map(_.toInt))
      assert(runs.forall(run => run == run.distinct.sorted && run.forall(_ < total)))
      val deviation = math.sqrt(trials * p * (1 - p))
      for (i <- 0 until total) assertNear(runs.count(_.contains(i)).toDouble, trials * p, deviation)
      // pairs: both with the chance p²
      val both = math.sqrt(trials * p * p * (1 - p * p))
      for ((i, j) <- Seq((0, 1), (4, 5), (7, 29), (28, 29)))
        assertNear(runs.count(run => run.contains(i) && run.contains(j)).toDouble, trials * p * p, both + 1)
      // their number is binomial
      val sizes = runs.map(_.size.toDouble)
      assertNear(sizes.sum, trials * total * p, math.sqrt(trials * total * p * (1 - p)))
      val variance = sizes.map(n => math.pow(n - total * p, 2)).sum / trials
      assertNear(variance, total * p * (1 - p), 2 * total * p * (1 - p) / math.sqrt(trials / 2.0))
    }

  for (exponent <- Seq(40, 64, 90, 120))
    test(s"thinned: of 2^$exponent positions about 5,000, and all bits of them are uniform") {
      val total = BigInt(2).pow(exponent)
      val chosen = all(new ThinnedPositions(math.scalb(5000.0, -exponent), replacement = false, 7, total))
      assert(chosen == chosen.distinct.sorted && chosen.last < total)
      assertNear(chosen.size.toDouble, 5000, math.sqrt(5000))
      for (shift <- Seq(0, 8, exponent / 2, exponent - 4))
        assertUniform(
          chosen.groupBy(position => ((position >> shift) & 15).toInt).values.map(_.size),
          chosen.size / 16.0
        )
      // the jumps are nearly exponential: a sixteenth of them in each interval of equal chance
      val gaps = chosen.zip(BigInt(0) +: chosen).map { case (to, from) => (to - from).toDouble / total.toDouble * 5000 }
      assertUniform(gaps.groupBy(gap => (math.exp(-gap) * 16).toInt).values.map(_.size), gaps.size / 16.0)
    }

  test("thinned: nothing and everything") {
    for (total <- Seq(0, 1, 100000); replacement <- Seq(false, true))
      assert(all(new ThinnedPositions(0.0, replacement, 1, total)).isEmpty)
    for (total <- Seq(0, 1, 100000))
      assert(all(new ThinnedPositions(1.0, replacement = false, 1, total)) == (0 until total).map(BigInt(_)))
    val last = BigInt(2).pow(127) - 1
    assert(all(new ThinnedPositions(1e-300, replacement = false, 1, last)).isEmpty)
    assert(all(new ThinnedPositions(1e-36, replacement = false, 1, last)).forall(_ < last))
  }

  for (mean <- Seq(0.05, 0.7, 3.0))
    test(s"thinned with replacement: copies are Poisson numbers of mean $mean") {
      val total = 40000
      val chosen = all(new ThinnedPositions(mean, replacement = true, 3, total))
      val copies = chosen.groupMapReduce(identity)(_ => 1)(_ + _)
      val of = (0 until total).map(i => math.min(copies.getOrElse(BigInt(i), 0), 6))
      val chances = (0 until 6).scanLeft(math.exp(-mean))((p, n) => p * mean / (n + 1)).take(6)
      val expected = (chances :+ (1 - chances.sum)).map(_ * total)
      val seen = (0 to 6).map(n => of.count(_ == n))
      val likely = expected.indices.filter(expected(_) > 5)
      val x = likely.map(n => math.pow(seen(n) - expected(n), 2) / expected(n)).sum
      assert(Chances.chiSquare(x, likely.size - 1) > Least, s"$seen, not $expected")
      assertNear(chosen.size.toDouble, total * mean, math.sqrt(total * mean))
    }

  /** The positions of two cells, 3 and 7 of them, of which some are rejected, merged by keys. */
  private def merged(size: Int, replacement: Boolean, seed: Int): Seq[Int] = {
    val candidates = for {
      (total, cell) <- Seq(3, 7).zipWithIndex
      keyed = new KeyedPositions(total, replacement, 31L * seed + 1000003L * cell)
      found = Iterator.iterate(Seq.empty[(Double, Int)]) { before =>
        keyed.wanted = 2
        before ++ chunk(keyed).zipWithIndex.map { case (position, i) => (keyed.key(i), 3 * cell + position.toInt) }
          .filterNot(found => Rejected(found._2))
      }
      candidate <- found.drop(if (replacement) 12 else 4).next()
    } yield candidate
    candidates.sorted.map(_._2).take(size)
  }
  private val Rejected = Set(1, 5)

  test("without replacement: each subset of all cells together has the same chance") {
    val trials = 28000
    val subsets = (0 until trials).map(merged(3, replacement = false, _)).groupBy(_.sorted)
    assert(subsets.keySet == (0 until 10).filterNot(Rejected).combinations(3).toSet)
    assertUniform(subsets.values.map(_.size), trials / 56.0)
    // and in each order
    assertUniform(subsets(Seq(0, 2, 3)).groupBy(identity).values.map(_.size), subsets(Seq(0, 2, 3)).size / 6.0)
  }

  test("with replacement: each sequence has the same chance") {
    val trials = 32000
    val pairs = (0 until trials).map(merged(2, replacement = true, _)).groupBy(identity)
    assert(pairs.size == 64)
    assertUniform(pairs.values.map(_.size), trials / 64.0)
  }

  test("drawn without replacement, positions end; keys ascend from chunk to chunk") {
    val keyed = new KeyedPositions(1000, replacement = false, 5)
    var (seen, last) = (Set.empty[BigInt], 0.0)
    for (size <- Seq(10, 500, 480, 9, 7)) {
      keyed.wanted = size.toLong
      val drawn = chunk(keyed)
      assert(drawn.size == math.min(size, 1000 - seen.size))
      assert(drawn == drawn.distinct.sorted && !drawn.exists(seen))
      val keys = drawn.indices.map(keyed.key)
      assert(keys.forall(key => last < key && key <= 1.0))
      seen ++= drawn
      last = (last +: keys).max
      assert(keyed.drawnUpTo == last)
    }
    assert(seen.size == 1000)
  }
}
