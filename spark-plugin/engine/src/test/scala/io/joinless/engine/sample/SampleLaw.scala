package io.joinless.engine.sample

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.{CaseChange, NaiveJoin}
import io.joinless.engine.sample.SampledTree.Copy

/** The law of a kept sample, by repeating one stream of batches with other seeds. After each batch,
  * of each group with more copies of results than are kept:
  *   - each copy is kept as often as the others (χ²);
  *   - so are pairs of copies (for some pairs);
  *   - pairs of copies of two groups are kept independently (for some pairs);
  *   - the greatest key is that of the k-th smallest of n uniform numbers (its mean);
  *   - the sample enters as often as it should: the expected number of copies that enter in a batch
  *     of insertions follows from n before and after.
  *
  * What is seen has a chance of at least `unlikely` if the law holds. Seeds are fixed.
  *
  * @param start an empty sample for each repetition
  */
final class SampleLaw(grouping: Grouping, capacity: Int, repetitions: Int, unlikely: Double = SampleLaw.Unlikely)(
    start: Int => KeptCopies = _ => new SampledTree(grouping.query, capacity, grouping.isGrouped)
) {
  private[this] val query = grouping.query

  private[this] val batches: IndexedSeq[Batch] = {
    val oracle = new NaiveJoin(query)
    var last = Set.empty[Copy]
    query.batches.map { changes =>
      oracle(changes)
      val copies = SampledTree.all(oracle.result(), oracle.multiplicity)
      val batch = new Batch(changes, copies, last)
      last = copies.toSet
      batch
    }
  }

  /** Statistics that were compared. */
  var checks = 0

  /** What is too unlikely, if anything. */
  def run(): Option[String] = {
    for (repetition <- 0 until repetitions) {
      val tree = start(repetition)
      for ((batch, i) <- batches.zipWithIndex) {
        val entered = tree.play(batch.changes, 1000003L * repetition + 7919L * i + 1).filter(_._2 > 0).map(_._1)
        batch.note(tree.copies, entered)
      }
    }
    batches.indices.iterator.flatMap(i => batches(i).failure.map(what => s"after batch $i: $what")).nextOption()
  }

  /** The groups after one batch. */
  final private class Batch(val changes: Iterable[CaseChange], copies: IndexedSeq[Copy], last: Set[Copy]) {
    private val before = last.groupBy(grouping.group).withDefaultValue(Set.empty)
    private val stages = copies.groupBy(grouping.group).map { case (group, of) =>
      group -> new Stage(of, of.count(last), before(group).size)
    }
    private val across = {
      val random = new Random(copies.size)
      val sampled = copies.filter(copy => stages(grouping.group(copy)).isSampled)
      val pairs = Seq.fill(if (sampled.size > 1) 20 else 0)(random.shuffle(sampled).take(2)).distinct
      pairs.collect { case IndexedSeq(a, b) if grouping.group(a) != grouping.group(b) => (a, b) }
    }
    private val together = mutable.Map.empty[(Copy, Copy), Long].withDefaultValue(0L)

    def note(kept: Map[Copy, Double], entered: Seq[Copy]): Unit = {
      val (sample, entries) = (kept.groupBy { case (copy, _) => grouping.group(copy) }, entered.groupBy(grouping.group))
      for ((group, stage) <- stages) stage.note(sample.getOrElse(group, Map.empty), entries.get(group).fold(0)(_.size))
      for ((a, b) <- across if kept.contains(a) && kept.contains(b)) together((a, b)) += 1
    }

    def failure: Option[String] = stages.iterator.flatMap { case (group, stage) =>
      stage.failure.map(what => s"group $group: $what")
    }.nextOption().orElse(independently)

    private def independently: Option[String] = across.iterator.flatMap { case (a, b) =>
      val chance = stages(grouping.group(a)).chance * stages(grouping.group(b)).chance
      off(
        together((a, b)).toDouble,
        repetitions * chance,
        repetitions * chance * (1 - chance),
        across.size,
        s"$a is kept with $b of another group"
      )
    }.nextOption()
  }

  private def off(seen: Double, mean: Double, variance: Double, of: Int, what: String): Option[String] =
    judged(2 * of * Chances.normal(math.abs(seen - mean) / math.sqrt(variance)), s"$what $seen, not $mean")

  private def judged(chance: Double, what: String): Option[String] = {
    checks += 1
    Option.when(chance < unlikely)(s"$what, with a chance of $chance")
  }

  /** One group after a batch: its copies, and how often each, and each of some pairs, was kept.
    *
    * @param stayed how many of the copies were there before
    * @param before how many copies there were before
    */
  final private class Stage(copies: IndexedSeq[Copy], stayed: Int, before: Int) {
    private val n = copies.size
    private val index = copies.zipWithIndex.toMap
    private val kept = new Array[Long](n)
    private val random = new Random(n)
    private val pairs = Seq.fill(if (n > 2) 20 else 0)(random.shuffle(copies).take(2)).map(p => (p(0), p(1))).distinct
    private val together = mutable.Map.empty[(Copy, Copy), Long].withDefaultValue(0L)
    private var bounds = 0.0
    private var entries = 0L

    def isSampled: Boolean = n > capacity
    def chance: Double = capacity.toDouble / n

    def note(keys: Map[Copy, Double], entered: Int): Unit = {
      val sample = keys.keySet
      sample.foreach(copy => kept(index(copy)) += 1)
      for ((a, b) <- pairs if sample(a) && sample(b)) together((a, b)) += 1
      if (isSampled) bounds += keys.values.max
      entries += entered
    }

    def failure: Option[String] = if (!isSampled) None
    else inclusions.orElse(jointly).orElse(keys).orElse(skips)

    private def inclusions: Option[String] = {
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
      val fresh = (n - before).toDouble
      val variance = fresh * chance * (1 - chance) * before / (n - 1)
      off(entries.toDouble, repetitions * fresh * chance, repetitions * variance, 1, "the number of entries is")
    }
  }
}

object SampleLaw {
  private[sample] val Unlikely = 1e-4 // of one statistic

  /** The first batches of a random case, as long as they have few results, and a capacity below
    * what they end with, if that is possible.
    */
  def draw(seed: Long, repetitions: Int, unlikely: Double = Unlikely): SampleLaw =
    of(Grouping.none(SampleRun.deletable(seed)), seed, repetitions, unlikely)

  /** The same with a sample per group; the capacity is below the size of the greatest one. */
  def drawGrouped(seed: Long, repetitions: Int, unlikely: Double = Unlikely): SampleLaw =
    of(Grouping.draw(SampleRun.deletable(seed), new Random(seed)), seed, repetitions, unlikely)

  private def of(grouping: Grouping, seed: Long, repetitions: Int, unlikely: Double): SampleLaw = {
    val query = grouping.query
    val oracle = new NaiveJoin(query)
    val sizes = query.batches.map { changes =>
      val counts = oracle.multiplicity.map(_.clone())
      oracle(changes)
      val refused = !query.negatives && oracle.multiplicity.exists(_.exists(_ < 0))
      if (refused) counts.indices.foreach(r => counts(r).copyToArray(oracle.multiplicity(r)))
      if (refused) (Int.MaxValue, 0)
      else {
        val copies = SampledTree.all(oracle.result(), oracle.multiplicity)
        (copies.size, copies.groupBy(grouping.group).valuesIterator.map(_.size).maxOption.getOrElse(0))
      }
    }
    val batches = sizes.takeWhile(_._1 <= 60).size min 12
    val random = new Random(seed)
    val most = sizes.take(batches).map(_._2).maxOption.getOrElse(0)
    val capacity = math.max(1, Seq(1, 2, most / 4, most / 2, most - 1)(random.nextInt(5)))
    val first = query.copy(batches = query.batches.take(batches))
    new SampleLaw(grouping.copy(query = first), capacity, repetitions, unlikely)()
  }
}
