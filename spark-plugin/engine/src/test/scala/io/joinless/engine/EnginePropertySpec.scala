package io.joinless.engine

import io.joinless.engine.algebra.WeightOverflow
import io.joinless.engine.oracle._
import io.joinless.engine.query.{GyoReduction, Hypergraph, ShapesOfQueries, TreeSearch}
import io.joinless.engine.update.{ChangeBatch, Reversal}
import io.joinless.engine.view.{Invariants, ViewTree}
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.immutable.BitSet

/** Random queries and batches against the naive join; see [[EngineRun]] for the comparisons.
  *
  * A failure prints its seed and writes the shrunk case to `tests/regressions/`, where every later
  * run replays it.
  */
class EnginePropertySpec extends AnyFunSuite {

  test("oracle_batches: results, deltas, weights, membership and invariants of at least 200,000 batches") {
    var negatives, aggregates = 0
    var located, byKey, byScan = 0L
    val covered = played(200000, Generators.draw) { (query, run) =>
      if (query.negatives) negatives += 1
      aggregates += run.aggregatesChanged
      located += run.resultsLocated
      byKey += run.resultsLookedUp._1
      byScan += run.resultsLookedUp._2
    }
    import covered._
    info(
      s"$covered; $negatives queries with negative multiplicities, $aggregates aggregates of groups changed, $located results located, $byKey looked up by keys, $byScan by scans"
    )
    assert(
      gained > 10 * seeds && lost > 5 * seeds && negatives > seeds / 5 && refused > seeds / 4 && rehearsals > batches / 5 && emptied > seeds && runs > gained / 100 && aggregates > 5 * seeds && located > batches && byKey > batches / 4 && byScan > batches / 4
    )
  }

  test("oracle_batches: relations that are joined by intersection, at least 100,000 batches") {
    var cyclic = 0
    val covered = played(100000, Generators.drawBag) { (query, _) =>
      if (!GyoReduction.isAcyclic(Hypergraph(query.relations.map(r => BitSet.fromSpecific(r.keys.map(_._1))))))
        cyclic += 1
    }
    import covered._
    info(s"$covered; $cyclic queries are cyclic")
    assert(cyclic > seeds / 2 && gained > 5 * seeds && lost > 3 * seeds && runs > seeds)
    assert(refused > seeds / 4 && rehearsals > batches / 5 && emptied > seeds)
  }

  test("batching_: in any order, one by one, or all at once") {
    for (seed <- 0L until 400L) {
      val query = Generators.draw(seed)
      val random = new scala.util.Random(seed)
      play(seed, query.copy(batches = query.batches.map(random.shuffle(_))))
      play(seed, query.copy(batches = query.batches.flatten.map(IndexedSeq(_))))
      play(seed, query.copy(batches = query.batches.grouped(1 + random.nextInt(20)).map(_.flatten).toIndexedSeq))
    }
  }

  test("drained and refilled: empty each time, and no larger than the first time") {
    for (seed <- 0L until 400L) {
      val drawn = Generators.draw(seed)
      val query = drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = true)))
      val tree = new ViewTree(query.block)
      val batch = new ChangeBatch(tree, IndexedSeq.empty)
      def play(changes: Iterable[CaseChange]): Unit = {
        changes.foreach { c =>
          val words = query.inputs(c.input).words(c.row)
          batch.add(c.input, c.roles, c.weight, words, words.length)
        }
        while (batch.next()) {}
      }
      val insertions = query.batches.flatten.filter(_.weight > 0)
      val deletions = new scala.util.Random(seed).shuffle(insertions.map(c => c.copy(weight = -c.weight)))
      val bytes = for (_ <- 1 to 10) yield {
        insertions.grouped(5).foreach(play)
        deletions.grouped(7).foreach(play)
        assert(tree.isEmpty, s"seed $seed")
        tree.bytes
      }
      assert(bytes.last <= 1.25 * bytes.head, s"seed $seed")
    }
  }

  test("a weight that does not fit 64 bits is an error") {
    val input = CaseInput(retractable = true, IndexedSeq(false), IndexedSeq(IndexedSeq(Some(0L))))
    val relations = IndexedSeq.fill(2)(CaseRelation(0, IndexedSeq(0 -> 0)))
    val tree = TreeSearch.best(Hypergraph.of(Seq(0), Seq(0))).fold(core => fail(core.toString), identity)
    val attribute = CaseAttribute(variable = false, nullSafe = false)
    val pair = Case(IndexedSeq(attribute), IndexedSeq(input), relations, tree, IndexedSeq.empty, IndexedSeq.empty)
    def play(weights: Long*): Unit = {
      val batch = new ChangeBatch(new ViewTree(pair.block), IndexedSeq.empty)
      for (weight <- weights) {
        batch.add(0, 3L, weight, input.words(0), input.words(0).length)
        while (batch.next()) {}
      }
    }
    play(3000000000L, -2999999999L)
    assert(intercept[WeightOverflow](play(4000000000L)).term === "4000000000 * 4000000000")
    intercept[WeightOverflow](play(1L, Long.MaxValue))
  }

  test("oracle_batches: hundreds of rows, batches of up to 1,000 changes") {
    for (seed <- 0L until 60L) play(seed, Generators.drawLarge(seed))
  }

  test("rows of more than 32 roles are rolled back") {
    val stream = new Streams(ShapesOfQueries.star(40), changelog = false, selfJoin = true)
    val tree = stream.tree
    def add(roles: Range, reversal: Reversal): Unit = {
      val row = stream.store(0, 1L, roles.start.toLong)
      for (r <- roles) { stream.insert(r, row); reversal.inserted(r, row) }
    }
    add(0 until 20, new Reversal(tree))
    stream.delta.complete()
    val (rows, alive) = (tree.rows, tree.counters.alive)
    val reversal = new Reversal(tree)
    add(30 until 40, reversal)
    add(0 until 40, reversal)
    add(39 until 40, reversal)
    stream.delta.complete()
    assert(tree.rows == rows + 3 && tree.counters.marked > 0)
    reversal.undo()
    Invariants.check(tree)
    assert(tree.rows == rows && tree.counters.alive == alive && tree.counters.marked == 0)
  }

  test("a changed row is copied once, for all its roles and whoever else notes it") {
    val tree = new Streams(ShapesOfQueries.star(3), changelog = true, selfJoin = true).tree
    val batch = new ChangeBatch(tree, IndexedSeq.empty)
    def add(roles: Long, values: Long*): Unit = {
      val words = Rows.encode(values.map(Option(_)).toIndexedSeq, values.map(_ => false).toIndexedSeq)
      batch.add(0, roles, 1L, words, words.length)
    }
    add(1L, 1L, 10L)
    add(7L, 2L, 10L)
    add(6L, 1L, 10L) // the roles of the first row are not consecutive
    batch.prepare()
    val reversal = new Reversal(tree)
    batch.note(reversal, (input, row) => { val _ = reversal.copies.add(input, row) })
    assert(reversal.copies.size == 2)
    batch.drain()
    assert(tree.rows == 2)
    reversal.undo()
    Invariants.check(tree)
    assert(tree.rows == 0)
  }

  for (path <- CaseFile.all) test(s"regression: ${path.getFileName}") {
    Shrinking.failure(CaseFile.read(path)).foreach(e => fail(e.getMessage, e))
  }

  test("a case survives being written down") {
    for (seed <- 0L until 200L) {
      val query = Generators.draw(seed)
      assert(CaseFile.parse(CaseFile.render(query)) === query)
    }
  }

  /** Plays the cases of the seeds from 0 on, until they had so many batches.
    *
    * @param each is called after each case
    */
  private def played(batches: Int, draw: Long => Case)(each: (Case, EngineRun) => Unit): EnginePropertySpec.Covered = {
    val covered = new EnginePropertySpec.Covered
    while (covered.batches < batches) {
      val query = draw(covered.seeds)
      val run = play(covered.seeds, query)
      covered.add(run)
      each(query, run)
    }
    covered
  }

  private def play(seed: Long, query: Case): EngineRun = {
    val run = new EngineRun(query)
    try { run.run(); run }
    catch {
      case e: Mismatch =>
        val small = Shrinking.shrink(query)
        val why = Shrinking.failure(small).getOrElse(e)
        val path = CaseFile.write(small, s"seed-$seed", s"seed $seed\n${why.getMessage}")
        fail(s"seed $seed: ${why.getMessage}; shrunk to $path", why)
    }
  }
}

private object EnginePropertySpec {

  /** What several cases have covered. */
  final class Covered {
    var seeds = 0L
    var batches, refused, rehearsals, emptied, gained, lost, runs = 0

    def add(run: EngineRun): Unit = {
      seeds += 1
      batches += run.batchesDone
      refused += run.batchesRefused
      rehearsals += run.rehearsals
      emptied += run.timesEmptied
      gained += run.resultsGained
      lost += run.resultsLost
      runs += run.runs
    }

    override def toString: String =
      s"$seeds queries, $batches batches: $gained results gained, $lost lost, $runs runs of several, $refused batches refused, $rehearsals rolled back, $emptied times empty"
  }
}
