package io.joinless.engine.sample

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.{Case, Generators, NaiveJoin}
import io.joinless.engine.sample.SampledTree.Copy
import io.joinless.engine.update.DeleteOfAbsentRow

/** What is true of every sample, whatever is drawn, after each batch of a case:
  *   - of each group it has min(capacity, n) different copies of results, and the sum of all n is
  *     right;
  *   - the changes that are emitted lead from the sample before to the one after, and are none in
  *     groups whose results are those before;
  *   - a tree that was rebuilt from its rows in any order, and one in which batches were rolled
  *     back before, keep the same sample with the same keys.
  */
final class SampleRun(grouping: Grouping, capacity: Int, seed: Long) {
  private[this] val query = grouping.query
  private[this] val oracle = new NaiveJoin(query)
  private[this] val random = new Random(seed)
  private[this] val one = new SampledTree(query, capacity, grouping.isGrouped)
  private[this] val other = new SampledTree(query, capacity, grouping.isGrouped)
  private[this] var before = Map.empty[Copy, Double]
  private[this] var resultsBefore = Map.empty[IndexedSeq[Option[Long]], Set[Copy]]

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
    val results = all.groupBy(grouping.group)
    val needless = emitted.map(_._1).find { copy =>
      results.get(grouping.group(copy)) == resultsBefore.get(grouping.group(copy))
    }
    resultsBefore = results
    sampled += kept.size
    replaced += emitted.size
    if (query.residuals.isEmpty && one.total != all.size) Some(s"n is ${one.total}, not ${all.size}")
    else if (one.total < all.size) Some(s"n is ${one.total}, below ${all.size}")
    else if (!kept.keySet.subsetOf(all)) Some(s"${kept.keySet -- all} are sampled and no results")
    else if (wrongSize(all, kept.keySet).isDefined) wrongSize(all, kept.keySet)
    else if (emitted.toMap != expected || emitted.size != expected.size) Some(s"$emitted is emitted, not $expected")
    else if (needless.isDefined) Some(s"${needless.get} enters or leaves, and its group has the results of before")
    else if (other.copies != kept) Some(s"a tree with another history keeps ${other.copies}, not $kept")
    else if (again != emitted.toSet) Some(s"a tree with another history emits $again, not $emitted")
    else None
  }

  /** A group of which too few or too many copies are kept. */
  private def wrongSize(all: Set[Copy], kept: Set[Copy]): Option[String] = {
    val sizes = kept.groupBy(grouping.group).view.mapValues(_.size).toMap
    all.groupBy(grouping.group).iterator.map { case (group, copies) => (group, copies.size, sizes.getOrElse(group, 0)) }
      .collectFirst {
        case (group, n, size) if size != math.min(capacity, n) =>
          s"of group $group $size of $n are kept, at most $capacity"
      }
  }
}

object SampleRun {

  /** The case of a seed, with inputs whose rows can all be deleted, and a capacity. */
  def draw(seed: Long): SampleRun = {
    val random = new Random(seed)
    new SampleRun(Grouping.none(deletable(seed)), Seq(1, 2, 5, 20, 1000)(random.nextInt(5)), seed)
  }

  /** The same with a sample per group. */
  def drawGrouped(seed: Long): SampleRun = {
    val random = new Random(seed)
    new SampleRun(Grouping.draw(deletable(seed), random), Seq(1, 2, 5, 20)(random.nextInt(4)), seed)
  }

  /** The case of a seed, with inputs whose rows can all be deleted. */
  private[sample] def deletable(seed: Long): Case = {
    val drawn = Generators.draw(seed)
    drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = true)))
  }
}
