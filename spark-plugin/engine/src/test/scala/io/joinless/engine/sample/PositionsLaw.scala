package io.joinless.engine.sample

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.ChosenPositions

/** The laws of positions that are drawn on demand ([[ThinnedPositions]], [[KeyedPositions]]). Each
  * returns what is wrong, if anything: what is seen has a chance of less than `unlikely`, or it
  * cannot be.
  *
  * @param seed from which all random numbers follow
  */
final class PositionsLaw(seed: Long, unlikely: Double) {
  import PositionsLaw._

  /** All laws, for chances and sizes that depend on the seed. */
  def failure: Option[String] = {
    def some[A](values: A*): A = values(math.floorMod(seed, values.size.toLong).toInt)
    Iterator(
      () => thinned(some(0.5, 0.3, 0.01), trials = 2000),
      () => spread(some(40, 64, 90, 120)),
      () => poisson(some(0.05, 0.7, 3.0)),
      () => subsets(trials = 5600),
      () => sequences(trials = 6400),
      () => chunks,
      () => repeats
    ).flatMap(_.apply()).nextOption()
  }

  /** Each position with the chance p, whatever happens to the others. */
  def thinned(p: Double, trials: Int): Option[String] = {
    val total = 30
    val runs = (0 until trials).map { i =>
      all(new ThinnedPositions(p, replacement = false, seed * trials + i, total)).map(_.toInt)
    }
    val deviation = math.sqrt(trials * p * (1 - p))
    val both = math.sqrt(trials * p * p * (1 - p * p))
    val sizes = runs.map(_.size.toDouble)
    val variance = sizes.map(n => math.pow(n - total * p, 2)).sum / trials
    Iterator(
      () => unless(runs.forall(run => run == run.distinct.sorted && run.forall(_ < total)), "positions are no set"),
      () =>
        (0 until total).iterator.flatMap { i =>
          off(runs.count(_.contains(i)).toDouble, trials * p, deviation, s"position $i is chosen", of = total)
        }.nextOption(),
      () =>
        Seq((0, 1), (4, 5), (7, 29), (28, 29)).iterator.flatMap { case (i, j) =>
          val seen = runs.count(run => run.contains(i) && run.contains(j))
          off(seen.toDouble, trials * p * p, both + 1, s"$i and $j are chosen", of = 4)
        }.nextOption(),
      () => off(sizes.sum, trials * total * p, math.sqrt(trials * total * p * (1 - p)), "so many are chosen"),
      () =>
        off(
          variance,
          total * p * (1 - p),
          2 * total * p * (1 - p) / math.sqrt(trials / 2.0),
          "their number's variance is"
        )
    ).flatMap(_.apply()).nextOption()
  }

  /** Of 2^exponent^ positions about 5,000: all bits of them are uniform, and the jumps nearly
    * exponential.
    */
  def spread(exponent: Int): Option[String] = {
    val total = BigInt(2).pow(exponent)
    val chosen = all(new ThinnedPositions(math.scalb(5000.0, -exponent), replacement = false, seed, total))
    val gaps = chosen.zip(BigInt(0) +: chosen).map { case (to, from) => (to - from).toDouble / total.toDouble * 5000 }
    unless(chosen == chosen.distinct.sorted && chosen.forall(_ < total), "positions are no set")
      .orElse(off(chosen.size.toDouble, 5000, math.sqrt(5000), "so many are chosen"))
      .orElse(Seq(0, 8, exponent / 2, exponent - 4).iterator.flatMap { shift =>
        uneven(16, chosen.map(position => ((position >> shift) & 15).toInt), s"bits from $shift on", of = 4)
      }.nextOption())
      .orElse(uneven(16, gaps.map(gap => math.min(15, (math.exp(-gap) * 16).toInt)), "jumps"))
  }

  /** With replacement, the copies of a position are a Poisson number. */
  def poisson(mean: Double): Option[String] = {
    val total = 40000
    val chosen = all(new ThinnedPositions(mean, replacement = true, seed, total))
    val copies = chosen.groupMapReduce(identity)(_ => 1)(_ + _)
    val of = (0 until total).map(i => math.min(copies.getOrElse(BigInt(i), 0), 6))
    val chances = (0 until 6).scanLeft(math.exp(-mean))((p, n) => p * mean / (n + 1)).take(6)
    val expected = (chances :+ (1 - chances.sum)).map(_ * total)
    val seen = (0 to 6).map(n => of.count(_ == n))
    val likely = expected.indices.filter(expected(_) > 5)
    val x = likely.map(n => math.pow(seen(n) - expected(n), 2) / expected(n)).sum
    unless(chosen == chosen.sorted && chosen.forall(_ < total), "positions are in no order")
      .orElse(judged(Chances.chiSquare(x, likely.size - 1), s"$seen copies, not $expected"))
      .orElse(off(chosen.size.toDouble, total * mean, math.sqrt(total * mean), "so many are chosen"))
  }

  /** Without replacement, each subset of all cells together has the same chance, in each order. */
  def subsets(trials: Int): Option[String] = {
    val possible = (0 until 10).filterNot(Rejected).combinations(3).toIndexedSeq
    val runs = (0 until trials).map(i => merged(3, replacement = false, seed * trials + i))
    val places = runs.map(run => possible.indexOf(run.sorted))
    unless(!places.contains(-1), "a subset is none")
      .orElse(uneven(possible.size, places, "subsets"))
      .orElse(uneven(6, runs.map(run => run.sorted.permutations.indexOf(run)), "orders"))
  }

  /** With replacement, each sequence has the same chance. */
  def sequences(trials: Int): Option[String] = {
    val results = (0 until 10).filterNot(Rejected)
    val runs = (0 until trials).map(i => merged(2, replacement = true, seed * trials + i).map(results.indexOf(_)))
    unless(runs.forall(run => run.size == 2 && run.forall(_ >= 0)), "a rejected position is taken")
      .orElse(uneven(64, runs.map(run => 8 * run(0) + run(1)), "sequences"))
  }

  /** Drawn without replacement, positions end; keys ascend from chunk to chunk, and all are uniform.
    */
  def chunks: Option[String] = {
    val keyed = new KeyedPositions(1000, replacement = false, seed)
    var (seen, last) = (Set.empty[BigInt], 0.0)
    val allKeys = Vector.newBuilder[Double]
    Seq(10, 500, 480, 9, 7).iterator.flatMap { size =>
      keyed.wanted = size.toLong
      val drawn = chunk(keyed)
      val keys = drawn.indices.map(keyed.key)
      val rightSize = drawn.size == math.min(size, 1000 - seen.size)
      val rightSet = drawn == drawn.distinct.sorted && !drawn.exists(seen) && drawn.forall(_ < 1000)
      val rightKeys = keys.forall(key => last < key && key <= 1.0) && keys.distinct.size == keys.size
      seen ++= drawn
      allKeys ++= keys
      last = (last +: keys).max
      unless(rightSize, s"${drawn.size} positions are drawn, not $size")
        .orElse(unless(rightSet, "a position is drawn again"))
        .orElse(unless(rightKeys && keyed.drawnUpTo == last, "keys do not ascend"))
    }.nextOption().orElse(unless(seen.size == 1000, s"${seen.size} positions are drawn, not all"))
      .orElse(uneven(16, allKeys.result().map(key => math.min(15, (16 * key).toInt)), "keys"))
  }

  /** Drawn with replacement, chunks are as large as wanted and in the order of positions; keys
    * ascend from chunk to chunk, at the rate of all positions, which are equally likely.
    */
  def repeats: Option[String] = {
    val keyed = new KeyedPositions(16, replacement = true, seed)
    val positions = Vector.newBuilder[Int]
    Seq(10, 900, 480, 9, 1).iterator.flatMap { size =>
      val from = keyed.drawnUpTo
      keyed.wanted = size.toLong
      val drawn = chunk(keyed)
      val keys = drawn.indices.map(keyed.key)
      positions ++= drawn.map(_.toInt)
      unless(drawn.size == size, s"${drawn.size} positions are drawn, not $size")
        .orElse(unless(drawn == drawn.sorted && drawn.forall(_ < 16), "positions are in no order"))
        .orElse(unless(keys.forall(_ > from) && keys.max == keyed.drawnUpTo, "keys do not ascend"))
    }.nextOption().orElse(uneven(16, positions.result(), "positions"))
      .orElse(off(keyed.drawnUpTo * 16, 1400, math.sqrt(1400), "the last key is, times the rate,"))
  }

  /** The positions of two cells, 3 and 7 of them, of which some are rejected, merged by keys. */
  private def merged(size: Int, replacement: Boolean, seed: Long): Seq[Int] = {
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

  private def uneven(cells: Int, seen: Iterable[Int], what: String, of: Int = 1): Option[String] = {
    val expected = seen.size.toDouble / cells
    val counts = new Array[Int](cells)
    seen.foreach(cell => counts(cell) += 1)
    val x = counts.map(n => (n - expected) * (n - expected) / expected).sum
    judged(of * Chances.chiSquare(x, cells - 1), s"$what are not equally likely: ${counts.mkString(" ")}")
  }

  private def off(seen: Double, mean: Double, deviation: Double, what: String, of: Int = 1): Option[String] =
    judged(of * 2 * Chances.normal(math.abs(seen - mean) / deviation), s"$what $seen, not $mean ± $deviation")

  private def judged(chance: Double, what: String): Option[String] =
    unless(chance >= unlikely, s"$what, with a chance of $chance")

  private def unless(right: Boolean, what: String): Option[String] = Option.when(!right)(s"seed $seed: $what")
}

private[sample] object PositionsLaw {
  private val Rejected = Set(1, 5)

  /** All positions, chunk by chunk. */
  def all(chosen: ChosenPositions): Vector[BigInt] =
    Iterator.continually(chunk(chosen)).takeWhile(_.nonEmpty).flatten.toVector

  private def chunk(chosen: ChosenPositions): Vector[BigInt] = {
    val list = chosen.next()
    Vector.tabulate(list.size) { i =>
      val position = new Wide
      list.read(i, position)
      position.toBigInt
    }
  }
}
