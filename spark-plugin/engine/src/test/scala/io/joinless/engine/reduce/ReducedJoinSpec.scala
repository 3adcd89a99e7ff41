package io.joinless.engine.reduce

import io.joinless.engine.query.Reduction
import org.scalatest.funsuite.AnyFunSuite

/** Sums over joins, without their results, against nested loops. */
class ReducedJoinSpec extends AnyFunSuite {

  test(
    "oracle_batches: sums per result of at least 100,000 batches, with products of several relations and distinct parts"
  ) {
    var batches, results, refused, rehearsals, rebuilds, emptied, tops, summed, extended, mixed, shared, alone,
        absorbed = 0
    var seed = 0L
    while (batches < 100000) {
      val query = ReducedCase.draw(seed)
      val run = new ReducedRun(query)
      run.run().foreach(what => fail(s"seed $seed, $what; ${query.reduction}"))
      batches += run.batches
      results += run.results
      refused += run.refused
      rehearsals += run.rehearsals
      rebuilds += run.rebuilds
      emptied += run.emptied
      if (query.reduction.components.size > 1) tops += 1
      if (query.reduction.components.exists(_.relations.size > 1)) summed += 1
      if (query.reduction.output != query.asked) extended += 1
      val definition = query.definition(ReducedCase.numbers, lifts = true)
      val (join, whole) = (new ReducedJoin(definition), new WholeRows(definition))
      val inputs = query.of.inputs.indices
      // only where a component shows the rows of one relation and no more, no key of another can lie among them
      for (i <- inputs; c <- whole.shownBy(i) if !join.hasOtherKeys(i)) {
        assert(join.root(c).isInstanceOf[RelationNode])
        alone += 1
      }
      if (inputs.exists(i => join.hasOtherKeys(i) && whole.shownBy(i).isEmpty)) mixed += 1
      if (inputs.flatMap(whole.shownBy(_)).diff(inputs.flatMap(whole.shownBy(_)).distinct).nonEmpty) shared += 1
      if (query.distinct.forall(identity) && query.reduction != Reduction.best(query.graph, query.asked).toOption.get)
        absorbed += 1
      seed += 1
    }
    info(
      s"$seed queries ($tops with several components, $summed with one of several relations, $extended that show more than asked, $mixed with rows that are keys below, $shared with inputs that share what is shown, " +
        s"$alone that show one relation's rows, $absorbed with components below others), " +
        s"$batches batches: $results results told, $refused refused, $rehearsals taken back, $rebuilds rebuilt, $emptied times empty"
    )
    assert(tops > seed / 4 && summed > seed / 4 && extended > seed / 20 && rehearsals > batches / 8 && emptied > seed)
    assert(mixed > seed / 50 && alone > seed / 50 && shared > seed / 200 && absorbed > seed / 100)
  }

  test("changes of no copies leave nothing behind") {
    for (seed <- 0L until 100L) {
      val query = ReducedCase.draw(seed)
      val join = new ReducedJoin(query.definition(ReducedCase.numbers, lifts = true))
      val batch = new ReducedBatch(join, IndexedSeq.empty)
      for {
        (input, i) <- query.of.inputs.zipWithIndex
        row <- input.rows.indices
        roles = query.of.roles(i, row) if roles != 0L
      } batch.add(i, roles, 0L, input.words(row), input.words(row).length)
      assert(!batch.next() && join.isEmpty, s"seed $seed")
    }
  }
}
