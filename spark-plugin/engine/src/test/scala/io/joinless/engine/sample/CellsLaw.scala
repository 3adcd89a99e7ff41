package io.joinless.engine.sample

import scala.util.Random

import io.joinless.engine.oracle.{Case, CaseChange, Generators, NaiveJoin}

/** A drawn case for the law of a kept sample ([[SampleLaw]]) over what happens to a sample in a
  * query: its rows are appended, deleted or expire, it is kept by one or several cells, which are
  * rebuilt now and then, and it has from one place to more than there are results.
  */
final class CellsLaw private (
    val query: Case,
    val capacity: Int,
    val cells: Int,
    restarts: Boolean,
    val inputs: String
) {

  /** Copies that were sampled, over all batches that ran. */
  var sampled = 0L

  def start(seed: Long, merge: SampledCells.Merge = SampledCells.Least): SampledCells =
    new SampledCells(query, capacity, cells, restarts, seed, merge)

  /** The law, by repetitions with other seeds. */
  def law(repetitions: Int, unlikely: Double, merge: SampledCells.Merge = SampledCells.Least): SampleLaw =
    new SampleLaw(Grouping.none(query), capacity, repetitions, unlikely)(repetition => start(repetition.toLong, merge))

  /** What is true of every sample: after each batch it has min(capacity, n) copies of results, and
    * what entered and left leads to it; the number of results of all cells is that of the query.
    */
  def run(seed: Long): Option[String] = {
    val (oracle, sample) = (new NaiveJoin(query), start(seed))
    var kept = Set.empty[SampledTree.Copy]
    query.batches.indices.iterator.flatMap { i =>
      oracle(query.batches(i))
      val all = SampledTree.all(oracle.result(), oracle.multiplicity).toSet
      sample.play(query.batches(i), 0L).foreach {
        case (copy, 1L) => kept += copy
        case (copy, _) => kept -= copy
      }
      val n = math.min(capacity, all.size)
      val now = sample.copies.keySet
      val total = sample.total
      sampled += n
      if (now.size != n || !now.subsetOf(all)) Some(s"after batch $i: $now of $all are kept, which should be $n")
      else if (kept != now) Some(s"after batch $i: $now are kept, but $kept by the changes")
      else if (if (query.residuals.isEmpty) total != all.size else total < all.size)
        Some(s"after batch $i: n is $total, not ${all.size}")
      else None
    }.nextOption()
  }

  /** Whether more results than are kept are there after several batches. */
  def isJudged: Boolean = CellsLaw.sizesOf(query).flatten.count(_ > capacity) >= 3

  override def toString: String =
    s"$cells cells, $capacity places, $inputs, ${query.residuals.size} conditions, restarts $restarts: ${query.relations.size} relations"
}

object CellsLaw {
  private val MostResults = 60
  private val MostBatches = 12

  /** The seeds of the batches of cells differ; what is wrong, if any do not. */
  def sameSeeds: Option[String] = {
    val seeds = for (cell <- 0 until 16; batch <- 0L until 16L) yield SampleSeed(1L, cell, batch) -> ((cell, batch))
    seeds.groupMap(_._1)(_._2).collectFirst { case (_, several) if several.size > 1 => s"$several have one seed" }
  }

  /** The case of a seed: its first batches, as long as they have few results. */
  def draw(seed: Long): CellsLaw = {
    val random = new Random(seed)
    val drawn = Generators.draw(seed)
    val retractable = drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = true)))
    val (of, inputs) = random.nextInt(3) match {
      case 0 => (Windows.over(retractable, 1 + random.nextInt(4)), "expiring")
      case 1 => (retractable.copy(batches = retractable.batches.map(_.filter(_.weight > 0))), "appended")
      case _ => (retractable, "deleted")
    }
    val sizes = sizesOf(of).takeWhile(_.exists(_ <= MostResults)).flatten.take(MostBatches).toSeq
    val most = sizes.maxOption.getOrElse(0)
    val capacity = math.max(1, Seq(1, 2, most / 4, most / 2, most - 1, most, most + 3)(random.nextInt(7)))
    val cells = Seq(1, 3, 4)(random.nextInt(3))
    new CellsLaw(of.copy(batches = of.batches.take(sizes.size)), capacity, cells, random.nextBoolean(), inputs)
  }

  /** The number of results after each batch; None from the first one on that is refused. */
  private def sizesOf(query: Case): Iterator[Option[Int]] = {
    val oracle = new NaiveJoin(query)
    query.batches.iterator.map { changes: Iterable[CaseChange] =>
      oracle(changes)
      val refused = !query.negatives && oracle.multiplicity.exists(_.exists(_ < 0))
      Option.when(!refused)(SampledTree.all(oracle.result(), oracle.multiplicity).size)
    }
  }
}
