package io.joinless.engine

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle._
import io.joinless.engine.update.{DeletedRows, DeltaEnumeration, Forgetting, PrefetchedRows}
import io.joinless.engine.view.{Invariants, ViewTree}
import org.scalatest.funsuite.AnyFunSuite

/** Rows of append-only inputs are deleted without results, role by role and in any order. Each
  * later insertion emits exactly the results with the remaining rows; the invariants hold; a tree
  * with all rows deleted is empty, and does not grow from round to round.
  */
class ForgettingSpec extends AnyFunSuite {

  test("oracle_forgetting: results of at least 20,000 batches of insertions, between which rows are forgotten") {
    var batches, forgotten, results = 0
    var seed = 0L
    while (batches < 20000) {
      val drawn = Generators.draw(seed)
      val query = drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = false)), residuals = IndexedSeq.empty)
      val run = new Run(query, new Random(seed))
      try query.batches.foreach { changes => run.play(changes.filter(_.weight > 0)); batches += 1 }
      catch { case e: Throwable => throw new AssertionError(s"seed $seed", e) }
      run.forgetAll()
      forgotten += run.forgotten
      results += run.results
      seed += 1
    }
    info(s"$seed queries, $batches batches, $forgotten roles of rows forgotten, $results results")
    assert(forgotten > batches && results > 10 * seed)
  }

  test("filled and forgotten: empty each time, and no larger than the first time") {
    for (seed <- 0L until 200L) {
      val drawn = Generators.draw(seed)
      val query = drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = false)), residuals = IndexedSeq.empty)
      val run = new Run(query, new Random(seed))
      val bytes = for (_ <- 1 to 8) yield {
        query.batches.foreach(changes => run.fill(changes.filter(_.weight > 0).take(4), enumerate = false))
        run.forgetAll()
        run.tree.bytes
      }
      assert(bytes.last <= 1.25 * bytes.head, s"seed $seed: $bytes")
    }
  }

  /** Applies insertions; keeps the present rows as (relation, row of the stock, row id). */
  final private class Run(query: Case, random: Random) {
    val tree = new ViewTree(query.block.copy(forgets = true))
    private[this] val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
    private[this] val forget = new Forgetting(tree)
    private[this] val oracle = new NaiveJoin(query)
    private[this] val there = mutable.ArrayBuffer.empty[(Int, Int, Int)]
    private[this] val roles = mutable.Map.empty[(Int, Int), Int] // by (input, row id)
    var forgotten, results = 0

    def play(changes: Iterable[CaseChange]): Unit = {
      val before = oracle.result()
      val emitted = fill(changes, enumerate = true)
      val after = oracle.result()
      for ((key, weight) <- after) {
        val more = weight - before.getOrElse(key, 0L)
        assert(emitted.getOrElse(key, 0L) == more, s"a result inserted $more times")
      }
      assert(emitted.keys.forall(after.contains))
      Invariants.check(tree)
      // about as many rows remain as a batch inserts
      random.shuffle(there.toVector).drop(random.nextInt(12)).foreach(take)
      Invariants.check(tree)
    }

    /** Stores rows and prefetches them as one group; frees those that are not inserted after all.
      */
    private def inGroup(group: PrefetchedRows, changes: Seq[CaseChange]): Seq[(CaseChange, Int)] = {
      val rows = changes.map(change => (change, append(change)))
      group.clear()
      for ((change, row) <- rows) group.add(change.roles, row)
      val other = changes(random.nextInt(changes.size))
      group.add(other.roles, append(other))
      group.ready()
      group.free(rows.size)
      rows
    }

    private def append(change: CaseChange): Int = {
      val words = query.inputs(change.input).words(change.row)
      tree.arena(change.input).append(words, 0, words.length)
    }

    def fill(changes: Iterable[CaseChange], enumerate: Boolean): mutable.LongMap[Long] = {
      val all = mutable.LongMap.empty[Long]
      val group = new PrefetchedRows(tree, near = -1)
      val copies = changes.iterator.flatMap(c => Iterator.fill(c.weight.toInt)(c))
      for (ahead <- copies.grouped(3); (change, row) <- inGroup(group, ahead)) {
        roles((change.input, row)) = java.lang.Long.bitCount(change.roles)
        for (r <- query.relations.indices if (change.roles >>> r & 1L) != 0) {
          oracle.multiplicity(r)(change.row) += 1
          there += ((r, change.row, row))
          delta.insert(r, row)
          while (enumerate && delta.next()) {
            val key = NaiveJoin.pack(query.relations.indices.map(i => stockRow(i, delta.rows(i))).toArray)
            all(key) = all.getOrElse(key, 0L) + 1
            results += 1
          }
        }
      }
      delta.complete()
      all
    }

    def forgetAll(): Unit = {
      random.shuffle(there.toVector).foreach(take)
      val _ = assert(tree.isEmpty && there.isEmpty)
    }

    private def take(entry: (Int, Int, Int)): Unit = {
      val (relation, stock, row) = entry
      val input = query.relations(relation).input
      forget(relation, row)
      oracle.multiplicity(relation)(stock) -= 1
      there -= entry
      forgotten += 1
      roles((input, row)) -= 1
      if (roles((input, row)) == 0) DeletedRows.free(tree, input, row)
    }

    private def stockRow(relation: Int, row: Int): Int = {
      val input = query.relations(relation).input
      val arena = tree.arena(input)
      query.inputs(input).rowOf(arena.page(row), arena.start(row), arena.words(row))
    }
  }
}
