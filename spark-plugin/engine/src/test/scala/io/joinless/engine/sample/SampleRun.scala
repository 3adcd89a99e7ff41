package io.joinless.engine.sample

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.{Case, Generators, NaiveJoin}
import io.joinless.engine.sample.SampledTree.Copy
import io.joinless.engine.update.DeleteOfAbsentRow

/** What is true of every sample, whatever is drawn, after each batch of a case:
  *   - it has min(capacity, n) different copies of results, and n is right;
  *   - the changes that are emitted lead from the sample before to the one after;
  *   - a tree that was rebuilt from its rows in any order, and one in which batches were rolled
  *     back before, keep the same sample with the same keys.
  */
final class SampleRun(query: Case, capacity: Int, seed: Long) {
  private[this] val oracle = new NaiveJoin(query)
  private[this] val random = new Random(seed)
  private[this] val one = new SampledTree(query, capacity)
  private[this] val other = new SampledTree(query, capacity)
  private[this] var before = Map.empty[Copy, Double]

  var sampled, replaced = 0L

  /** What is wrong, if anything. */
  def run(): Option[String] =
    query.batches.indices.iterator.flatMap(batch => play(batch).map(what => s"batch $batch: $what")).nextOption()

  private def play(number: Int): Option[String] = {
    val changes = query.batches(number)
    val counts = oracle.multiplicity.map(_.clone())
    oracle(changes)
    if (!query.negatives && oracle.multiplicity.exists(_.exists(_ < 0))) {
      counts.indices.foreach(r => counts(r).copyToArray(oracle.multiplicity(r)))
      val refused = Seq(one, other).forall { tree =>
        try { tree.play(changes, 0L); false }
        catch { case _: DeleteOfAbsentRow => true }
      }
      Option.when(!refused)("a delete of an absent row passes")
    } else {
      if (random.nextInt(4) == 0) other.rehearse(random.shuffle(changes), random.nextLong())
      val emitted = one.play(changes, seed + number)
      val again = other.play(random.shuffle(changes), seed + number)
      val failure = differs(emitted, again.toSet)
      if (random.nextInt(5) == 0) other.rebuild(oracle.multiplicity, random)
      failure
    }
  }

  private def differs(emitted: Seq[(Copy, Long)], again: Set[(Copy, Long)]): Option[String] = {
    val all = SampledTree.all(oracle.result(), oracle.multiplicity).toSet
    val kept = one.copies
    val expected = mutable.Map.empty[Copy, Long]
    for (copy <- before.keys if !kept.contains(copy)) expected(copy) = -1L
    for (copy <- kept.keys if !before.contains(copy)) expected(copy) = 1L
    before = kept
    sampled += kept.size
    replaced += emitted.size
    if (query.residuals.isEmpty && one.total != all.size) Some(s"n is ${one.total}, not ${all.size}")
    else if (one.total < all.size) Some(s"n is ${one.total}, below ${all.size}")
    else if (!kept.keySet.subsetOf(all)) Some(s"${kept.keySet -- all} are sampled and no results")
    else if (kept.size != math.min(capacity, all.size)) Some(s"${kept.size} of ${all.size} are kept, at most $capacity")
    else if (emitted.toMap != expected || emitted.size != expected.size) Some(s"$emitted is emitted, not $expected")
    else if (other.copies != kept) Some(s"a tree with another history keeps ${other.copies}, not $kept")
    else if (again != emitted.toSet) Some(s"a tree with another history emits $again, not $emitted")
    else None
  }
}

object SampleRun {

  /** The case of a seed, with inputs whose rows can all be deleted, and a capacity. */
  def draw(seed: Long): SampleRun = {
    val drawn = Generators.draw(seed)
    val query = drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = true)))
    val random = new Random(seed)
    new SampleRun(query, Seq(1, 2, 5, 20, 1000)(random.nextInt(5)), seed)
  }
}
