package io.joinless.engine.sample

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.{Case, CaseChange, Generators, NaiveJoin}
import io.joinless.engine.sample.SampledTree.Copy

/** The law of a kept sample, by repeating one stream of batches with other seeds. After each batch
  * with more copies of results than are kept:
  *   - each copy is kept as often as the others (χ²);
  *   - so are pairs of copies (for some pairs);
  *   - the greatest key is that of the k-th smallest of n uniform numbers (its mean);
  *   - the sample enters as often as it should: the expected number of copies that enter in a batch
  *     of insertions follows from n before and after.
  *
  * What is seen has a chance of at least `unlikely` if the law holds. Seeds are fixed.
  */
final class SampleLaw(query: Case, capacity: Int, repetitions: Int, unlikely: Double = SampleLaw.Unlikely) {
  // by batch: the copies of results, and how often each, and each of some pairs, was kept
  private[this] val stages: IndexedSeq[Stage] = {
    val oracle = new NaiveJoin(query)
    var last = Set.empty[Copy]
    query.batches.map { changes =>
      oracle(changes)
      val copies = SampledTree.all(oracle.result(), oracle.multiplicity)
      val stage = new Stage(changes, copies, copies.count(last), last.size)
      last = copies.toSet
      stage
    }
  }

  /** Statistics that were compared. */
  var checks = 0

  /** What is too unlikely, if anything. */
  def run(): Option[String] = {
    for (repetition <- 0 until repetitions) {
      val tree = new SampledTree(query, capacity)
      for ((stage, i) <- stages.zipWithIndex) {
        val entered = tree.play(stage.changes, 1000003L * repetition + 7919L * i + 1).count(_._2 > 0)
        stage.note(tree.copies.keySet, tree.bound, entered)
      }
    }
    stages.indices.iterator.flatMap(i => stages(i).failure.map(what => s"after batch $i: $what")).nextOption()
  }

  final private class Stage(
      val changes: Iterable[CaseChange],
      copies: IndexedSeq[Copy],
      stayed: Int,
      before: Int
  ) {
    private val n = copies.size
    private val index = copies.zipWithIndex.toMap
    private val kept = new Array[Long](n)
    private val random = new Random(n)
    private val pairs = Seq.fill(if (n > 2) 20 else 0)(random.shuffle(copies).take(2)).map(p => (p(0), p(1))).distinct
    private val together = mutable.Map.empty[(Copy, Copy), Long].withDefaultValue(0L)
    private var bounds = 0.0
    private var entries = 0L

    def note(sample: collection.Set[Copy], bound: Double, entered: Int): Unit = {
      sample.foreach(copy => kept(index(copy)) += 1)
      for ((a, b) <- pairs if sample(a) && sample(b)) together((a, b)) += 1
      bounds += bound
      entries += entered
    }

    def failure: Option[String] = if (n <= capacity) None
    else inclusions.orElse(jointly).orElse(keys).orElse(skips)

    private def inclusions: Option[String] = {
      val chance = capacity.toDouble / n
      val (mean, variance) = (repetitions * chance, repetitions * chance * (1 - chance))
      val chi = kept.iterator.map(c => (c - mean) * (c - mean) / variance).sum * (n - 1) / n
      judged(
        Chances.chiSquare(chi, n - 1),
        s"χ² is $chi for $n copies, of which $capacity are kept: ${kept.mkString(" ")}"
      )
    }

    private def jointly: Option[String] = {
      val chance = capacity * (capacity - 1.0) / (n * (n - 1.0))
      pairs.iterator.flatMap { pair =>
        if (chance == 0) Option.when(together(pair) > 0)("two of one are kept")
        else off(
          together(pair).toDouble,
          repetitions * chance,
          repetitions * chance * (1 - chance),
          pairs.size,
          s"$pair is kept"
        )
      }.nextOption()
    }

    private def keys: Option[String] = {
      val variance = capacity * (n - capacity + 1.0) / ((n + 1.0) * (n + 1.0) * (n + 2.0))
      off(bounds, repetitions * capacity / (n + 1.0), repetitions * variance, 1, "the sum of the greatest keys is")
    }

    /** The copies that enter with insertions: m of the n copies are new, each kept with the chance
      * k / n.
      */
    private def skips: Option[String] = if (stayed < before || before < capacity || n == before) None
    else {
      val (fresh, chance) = ((n - before).toDouble, capacity.toDouble / n)
      val variance = fresh * chance * (1 - chance) * before / (n - 1)
      off(entries.toDouble, repetitions * fresh * chance, repetitions * variance, 1, "the number of entries is")
    }

    private def off(seen: Double, mean: Double, variance: Double, of: Int, what: String): Option[String] =
      judged(2 * of * Chances.normal(math.abs(seen - mean) / math.sqrt(variance)), s"$what $seen, not $mean")

    private def judged(chance: Double, what: String): Option[String] = {
      checks += 1
      Option.when(chance < unlikely)(s"$what, with a chance of $chance")
    }
  }
}

object SampleLaw {
  private[sample] val Unlikely = 1e-4 // of one statistic

  /** The first batches of a random case, as long as they have few results, and a capacity below
    * what they end with, if that is possible.
    */
  def draw(seed: Long, repetitions: Int, unlikely: Double = Unlikely): SampleLaw = {
    val drawn = Generators.draw(seed)
    val query = drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = true)))
    val oracle = new NaiveJoin(query)
    val sizes = query.batches.map { changes =>
      val counts = oracle.multiplicity.map(_.clone())
      oracle(changes)
      val refused = !query.negatives && oracle.multiplicity.exists(_.exists(_ < 0))
      if (refused) counts.indices.foreach(r => counts(r).copyToArray(oracle.multiplicity(r)))
      if (refused) Int.MaxValue else SampledTree.all(oracle.result(), oracle.multiplicity).size
    }
    val batches = sizes.takeWhile(_ <= 60).size min 12
    val random = new Random(seed)
    val most = sizes.take(batches).maxOption.getOrElse(0)
    val capacity = math.max(1, Seq(1, 2, most / 4, most / 2, most - 1)(random.nextInt(5)))
    new SampleLaw(query.copy(batches = query.batches.take(batches)), capacity, repetitions, unlikely)
  }
}
