package io.joinless.engine.reduce

import scala.collection.immutable.BitSet

import io.joinless.engine.algebra.Counts
import io.joinless.engine.query.{Hypergraph, Reduction, RelationNode}
import io.joinless.engine.tuples.{KeyField, ProjectedField, RowProjection}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef, RelationViews, WholeRows}
import org.scalatest.funsuite.AnyFunSuite

/** Sums over joins, without their results, against nested loops. */
class ReducedJoinSpec extends AnyFunSuite {

  test(
    "oracle_batches: sums per result of at least 100,000 batches, with products of several relations and distinct parts"
  ) {
    val played = new PlayedCases
    var tops, summed, extended, mixed, shared, alone, absorbed, outlived = 0
    var seed = 0L
    while (played.batches < 100000) {
      val query = ReducedCase.draw(seed)
      played.play(query).foreach(what => fail(s"seed $seed, $what; ${query.reduction}"))
      if (query.reduction.components.size > 1) tops += 1
      if (query.reduction.components.exists(_.relations.size > 1)) summed += 1
      if (query.reduction.output != query.requested) extended += 1
      val definition = query.definition(ReducedCase.numbers, lifts = true)
      val (join, whole) =
        (
          new ReducedJoin(definition),
          new WholeRows(definition.block, definition.components.map(_.projected), definition.top.relations.map(_.input))
        )
      val inputs = query.of.inputs.indices
      // if a component projects the rows of one relation only, the arena holds no keys of others
      for (i <- inputs; c <- whole.projectedBy(i) if !join.hasOtherKeys(i)) {
        assert(join.root(c).isInstanceOf[RelationViews])
        alone += 1
      }
      if (inputs.exists(i => join.hasOtherKeys(i) && whole.projectedBy(i).isEmpty)) mixed += 1
      if (
        query.reduction.components.size > 1 && inputs.exists(i => join.hasOtherKeys(i) && whole.projectedBy(i).nonEmpty)
      )
        outlived += 1
      if (inputs.flatMap(whole.projectedBy(_)).diff(inputs.flatMap(whole.projectedBy(_)).distinct).nonEmpty) shared += 1
      if (
        query.distinct.forall(identity) && query.reduction != Reduction.best(query.graph, query.requested).toOption.get
      )
        absorbed += 1
      seed += 1
    }
    info(
      s"$seed queries ($tops with several components, $summed with one of several relations, $extended that project more than requested, $mixed with rows that are keys below, $outlived with such rows that a component projects with others, $shared with inputs that share what is projected, " +
        s"$alone that project one relation's rows, $absorbed with components below others), $played"
    )
    import played.{batches, emptied, rehearsals}
    assert(tops > seed / 4 && summed > seed / 4 && extended > seed / 20 && rehearsals > batches / 8 && emptied > seed)
    assert(mixed > seed / 50 && alone > seed / 50 && shared > seed / 200 && absorbed > seed / 100)
  }

  test(
    "a row that is projected whole, and a key elsewhere, is freed when nobody has it as a key, with what is noted of it"
  ) {
    // X(s, d) r1 ⋈ P(s, d, w) on w = r1.s, and X r2 on P's s and d; grouped by row of r1
    val word = (i: Int) => KeyField(i, variable = false)
    val block = BlockDef(
      IndexedSeq(InputDef(2, 3, retractable = true), InputDef(3, 4, retractable = true)),
      IndexedSeq.fill(4)(AttributeDef(nullSafe = false)),
      IndexedSeq(
        RelationDef(0, IndexedSeq(0 -> word(0), 1 -> word(1))),
        RelationDef(1, IndexedSeq(2 -> word(0), 3 -> word(1), 0 -> word(2))),
        RelationDef(0, IndexedSeq(2 -> word(0), 3 -> word(1)))
      ),
      RelationNode(0, BitSet(0, 1), Vector.empty)
    )
    val graph = Hypergraph(IndexedSeq(BitSet(0, 1), BitSet(0, 2, 3), BitSet(2, 3)))
    val reduction = Reduction.best(graph, BitSet(0, 1)).toOption.get
    val components = reduction.components.map { c =>
      def projectedBy(r: Int) = c.projected.toIndexedSeq.map { x =>
        ProjectedField(block.relations(r).keys.collectFirst { case (`x`, f) => f.ordinal }.get, variable = false)
      }
      ComponentDef(c.tree, ComponentDef.atRoot(c.tree).map(r => r -> projectedBy(r)).toMap, distinct = false)
    }
    val top = BlockDef(
      reduction.components.map(c =>
        InputDef(c.projected.size, RowProjection.fixedWords(c.projected.size), retractable = true)
      ),
      block.attributes,
      reduction.components.indices.map { i =>
        RelationDef(
          i,
          reduction.components(i).projected.toIndexedSeq.zipWithIndex.map { case (x, at) => x -> word(at) }
        )
      },
      reduction.top
    )
    val definition = ReducedDef(block, components, top, Counts, block.relations.map(_ => None))
    val join = new ReducedJoin(definition)
    assert(components.size > 1 && join.hasOtherKeys(0) && new WholeRows(
      block,
      components.map(_.projected),
      components.indices
    ).projectedBy(
      0
    ).nonEmpty)
    val batch = new ReducedBatch(join, IndexedSeq.empty)
    def play(changes: (Int, Seq[Long], Long)*): Long = {
      for ((input, values, weight) <- changes)
        batch.add(input, if (input == 0) 5L else 2L, weight, (0L +: values).toArray, values.size + 1)
      var results = 0L
      while (batch.next()) results += batch.weight
      results
    }
    assert(play((0, Seq(1, 2), 1), (1, Seq(1, 2, 1), 1), (1, Seq(8, 9, 5), 1), (0, Seq(8, 9), 1)) == 1)
    assert(play((0, Seq(1, 2), -1)) == -1)
    assert(play((1, Seq(1, 2, 1), -1)) == 0)
    assert(play((0, Seq(5, 6), 1)) == 1, "joined by what was noted of a row that is freed")
    assert(play((0, Seq(5, 6), -1), (0, Seq(8, 9), -1), (1, Seq(8, 9, 5), -1)) == -1)
    assert(join.isEmpty)
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
