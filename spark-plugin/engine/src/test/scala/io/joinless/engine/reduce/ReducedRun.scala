package io.joinless.engine.reduce

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.{CaseChange, NaiveJoin}
import io.joinless.engine.update.DeleteOfAbsentRow

/** Runs a case on a reduced join and compares it with nested loops, batch by batch: the emitted
  * changes add up to the change of every result's element; a batch that was rolled back leaves no
  * trace; a state rebuilt from the rows continues like the one it replaces; a state with all rows
  * deleted is empty.
  */
final class ReducedRun(query: ReducedCase) {
  private[this] val oracle = new NaiveJoin(query.of)
  private[this] val random = new Random(query.of.batches.size)
  private[this] val definition = query.definition(ReducedCase.numbers, lifts = true)
  private[this] var join = new ReducedJoin(definition)
  private[this] var batch = new ReducedBatch(join, IndexedSeq.empty, query.of.negatives)
  private[this] var current = Map.empty[IndexedSeq[IndexedSeq[Long]], IndexedSeq[Long]]

  var batches, results, refused, rehearsals, rebuilds, emptied = 0

  /** The first difference, if any. */
  def run(): Option[String] =
    query.of.batches.iterator.map { changes =>
      batches += 1
      val failure =
        try play(changes)
        catch { case e: Exception => Some(s"$e at ${e.getStackTrace.take(4).mkString(" ")}") }
      failure.map(what => s"batch $batches: $what")
    }.collectFirst { case Some(what) => what }

  private def play(changes: IndexedSeq[CaseChange]): Option[String] = {
    val before = oracle.multiplicity.map(_.clone())
    oracle(changes)
    if (!query.of.negatives && oracle.multiplicity.exists(_.exists(_ < 0))) {
      before.indices.foreach(r => before(r).copyToArray(oracle.multiplicity(r)))
      refused += 1
      send(changes)
      try { batch.prepare(); Some("a delete of an absent row passes") }
      catch { case _: DeleteOfAbsentRow => None }
    } else {
      if (random.nextInt(4) == 0) rehearse(changes)
      send(changes)
      val emitted = mutable.Map.empty[IndexedSeq[IndexedSeq[Long]], IndexedSeq[Long]]
      val counted = new Array[Long](batch.element.length)
      var wrong = Option.empty[String]
      while (batch.next()) {
        results += 1
        val key = query.key(join, batch.rows)
        val sum = emitted.getOrElse(key, IndexedSeq(0L, 0L, 0L)).zip(batch.element).map { case (a, b) => a + b }
        if (query.reduction.components.size == 1) {
          batch.readBefore(counted)
          val right = current.getOrElse(key, IndexedSeq(0L, 0L, 0L))
          if (emitted.contains(key)) wrong = Some(s"$key is emitted twice")
          else if (counted.toIndexedSeq != right)
            wrong = Some(s"$key counted for ${counted.mkString(", ")}, not $right")
        }
        emitted(key) = sum
      }
      val next = query.result(oracle.multiplicity)
      val zero = IndexedSeq(0L, 0L, 0L)
      val expected = (next.keySet ++ current.keySet).iterator.map { key =>
        key -> next.getOrElse(key, zero).zip(current.getOrElse(key, zero)).map { case (a, b) => a - b }
      }.filter(_._2 != zero).toMap
      current = next
      val found = emitted.filter(_._2 != zero).toMap
      if (wrong.isDefined) wrong
      else if (found != expected) Some(s"emitted ${found.take(5)}, expected ${expected.take(5)}")
      else {
        val empty = oracle.multiplicity.forall(_.forall(_ == 0L))
        if (empty) emptied += 1
        if (random.nextInt(20) == 0) rebuild()
        Option.when(empty != join.isEmpty)(s"empty: ${join.isEmpty}, expected $empty").orElse(rowsDiffer)
      }
    }
  }

  /** Compares the number of present rows, the rows that are found, and their counts. */
  private def rowsDiffer: Option[String] = query.of.inputs.indices.iterator.flatMap { input =>
    val relations = query.of.block.relationsOf(input)
    val rows = query.of.inputs(input).rows.indices.groupBy(query.of.inputs(input).words(_).toSeq)
    val there = rows.count { case (_, same) => relations.exists(r => same.exists(oracle.multiplicity(r)(_) != 0L)) }
    val wrong = rows.collectFirst {
      case (words, same) if {
            val row = join.find(input, words.toArray, words.size)
            val counts = relations.map(r => same.map(oracle.multiplicity(r)(_)).sum)
            if (row < 0) counts.exists(_ != 0L)
            else counts.forall(_ == 0L) || relations.map(join.multiplicity(_, row)).toSeq != counts.toSeq
          } => s"$words of input $input"
    }
    Option.when(join.rowsOf(input) != there)(s"${join.rowsOf(input)} rows of input $input, expected $there").orElse(
      wrong
    )
  }.nextOption()

  private def send(changes: IndexedSeq[CaseChange], to: ReducedBatch = batch): Unit = for (change <- changes) {
    val words = query.of.inputs(change.input).words(change.row)
    to.add(change.input, change.roles, change.weight, words, words.length)
  }

  private def rehearse(changes: IndexedSeq[CaseChange]): Unit = {
    rehearsals += 1
    send(changes)
    batch.prepare()
    val reversal = ReducedBatch.reversal(join)
    batch.note(reversal)
    var some = random.nextInt(4)
    while (some > 0 && batch.next()) some -= 1
    if (some == 0) batch.drain()
    reversal.undo()
  }

  private def rebuild(): Unit = {
    rebuilds += 1
    val next = new ReducedJoin(definition)
    val restoration = next.restoration()
    for (r <- random.shuffle(query.of.relations.indices.toVector); row <- oracle.multiplicity(r).indices) {
      val input = query.of.relations(r).input
      val words = query.of.inputs(input).words(row)
      if (oracle.multiplicity(r)(row) != 0L)
        restoration.set(1L << r, restoration.find(input, words, words.length), oracle.multiplicity(r)(row))
    }
    restoration.finish()
    new RestoredResults(next).drain()
    join = next
    batch = new ReducedBatch(join, IndexedSeq.empty, query.of.negatives)
  }
}

/** Plays cases one after the other, and adds up what was seen. */
final class PlayedCases {
  var batches, results, refused, rehearsals, rebuilds, emptied = 0

  /** Plays a case; the first difference, if any. */
  def play(query: ReducedCase): Option[String] = {
    val run = new ReducedRun(query)
    val failure = run.run()
    batches += run.batches
    results += run.results
    refused += run.refused
    rehearsals += run.rehearsals
    rebuilds += run.rebuilds
    emptied += run.emptied
    failure
  }

  override def toString: String =
    s"$batches batches: $results results emitted, $refused refused, $rehearsals rolled back, $rebuilds rebuilt, $emptied times empty"
}
