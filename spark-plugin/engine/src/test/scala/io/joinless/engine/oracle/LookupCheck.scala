package io.joinless.engine.oracle

import scala.util.Random

import io.joinless.engine.enumerate.{BoundField, Lookup, Residual, Results}
import io.joinless.engine.tuples.{FieldValues, KeyField}
import io.joinless.engine.view.ViewTree

/** Compares look-ups by random fields and values, NULL among them, with the results of the oracle,
  * and their moves with the number of results.
  *
  * @param collect the weight of each result that is enumerated, packed
  */
final class LookupCheck(
    query: Case,
    residuals: IndexedSeq[Residual],
    collect: Results => collection.Map[Long, Long],
    random: Random
) {
  private[this] val relations = query.relations.size

  /** The number of results that were found by keys, and by scans. */
  var foundByKey, foundByScan = 0L

  /** What is wrong with a look-up in a tree, if anything. */
  def differs(tree: ViewTree, results: collection.Map[Long, Long]): Option[String] = {
    val bounds = IndexedSeq.fill(1 + random.nextInt(2))(draw())
    val expected = results.filter { case (packed, _) =>
      val rows = NaiveJoin.unpack(packed, relations)
      bounds.forall(b => b.values.contains(encoded(b.relation, b.field.ordinal, rows(b.relation))))
    }
    val lookup = new Lookup(tree, residuals, bounds)
    val (moves, before) = (tree.counters.moves, tree.counters.results)
    val found = collect(lookup)
    val count = tree.counters.results - before
    if (lookup.isByKey) foundByKey += count else foundByScan += count
    val keys = bounds.map(_.values.size.toLong).product
    val most = keys + 2L * tree.nodes.length * (count + keys)
    val taken = tree.counters.moves - moves
    if (found != expected) Some(s"look-up of $bounds: $found, not $expected")
    else if (lookup.costsResults && taken > most) Some(s"look-up of $bounds: $taken moves for $count results")
    else None
  }

  /** A field, and values that its rows have or could have. */
  private def draw(): BoundField = {
    val relation = random.nextInt(relations)
    val definition = query.relations(relation)
    val input = query.inputs(definition.input)
    val ordinal =
      if (definition.keys.nonEmpty && random.nextInt(4) > 0) definition.keys(random.nextInt(definition.keys.size))._2
      else random.nextInt(input.columns.size)
    val values = Set.fill(1 + random.nextInt(3)) {
      if (random.nextInt(4) > 0) encoded(relation, ordinal, random.nextInt(input.rows.size))
      else encoded(Option.when(random.nextBoolean())(random.nextInt(6).toLong), input.columns(ordinal))
    }
    BoundField(relation, KeyField(ordinal, input.columns(ordinal)), values)
  }

  /** A value of a row of the stock. */
  private def encoded(relation: Int, ordinal: Int, row: Int): FieldValues.Value = {
    val input = query.inputs(query.relations(relation).input)
    encoded(input.rows(row)(ordinal), input.columns(ordinal))
  }

  private def encoded(value: Option[Long], variable: Boolean): FieldValues.Value = value.map { v =>
    val row = Rows.encode(IndexedSeq(Some(v)), IndexedSeq(variable))
    if (variable) row(1).toInt.toLong +: row.drop(2).toIndexedSeq else IndexedSeq(row(1))
  }
}
