package io.joinless.engine.oracle

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.enumerate.{FullEnumeration, Membership, Residual, Results, Run, WordPointers}
import io.joinless.engine.orders.OrderChoice
import io.joinless.engine.update.{
  ChangeBatch,
  DeleteOfAbsentRow,
  DeltaEnumeration,
  PrefetchedRows,
  Restoration,
  Reversal
}
import io.joinless.engine.view.{GeneralizedViews, Invariants, RelationViews, ViewTree}

/** Runs a case on the engine and compares it, batch by batch, with the oracle.
  *
  * Checked after each batch:
  *   - the deltas add up to the change of the result (I7);
  *   - if no row has a multiplicity > 1, each result changes at most once, so no transient result
  *     is emitted (I6); otherwise it changes with one sign only, unless the batch says that it may
  *     not;
  *   - rows not announced as changed are the same;
  *   - cursors move at most twice per level between two results, but in a bag;
  *   - the full enumeration is the result, with its weights;
  *   - the membership of some rows;
  *   - counts and sums of the results, if the tree has aggregates: their changes, and all;
  *   - the results that have some values, looked up;
  *   - the results by position, in an order that neither a roll-back nor a rebuild changes;
  *   - the invariants I1 to I5, I8 and I9;
  *   - a tree with all rows deleted is empty.
  *
  * A batch that was rolled back leaves no trace: applied again, by the same [[ChangeBatch]] or
  * another, it takes as many steps. A tree rebuilt from the rows continues like the one it
  * replaces, whether the rows are inserted as changes or restored as from a log. On append-only
  * blocks the propagation never takes more steps than there are (tuple, child) pairs.
  */
final class EngineRun(query: Case) {
  private[this] val relations = query.relations.size
  private[this] val oracle = new NaiveJoin(query)
  private[this] val appendOnly = query.inputs.forall(!_.retractable)
  private[this] val random = new Random(query.batches.size)
  // every other query without conditions is counted and enumerated from one state
  private[this] val aggregates: Option[AggregatesCheck] =
    Option.when(query.residuals.isEmpty && random.nextBoolean() && !query.block.isBag)(new AggregatesCheck(
      query,
      random
    ))
  // results do not depend on the orders in which relations are bound
  private[this] val orderChoice: OrderChoice = random.nextInt(4) match {
    case 0 => OrderChoice.Fixed(IndexedSeq.fill(relations)(random.shuffle(query.relations.indices.toVector)))
    case 1 => OrderChoice.Adaptive(sums = random.nextBoolean(), patience = random.nextInt(3), randomAfter = 5)
    case _ => OrderChoice.Fewest
  }
  private[this] var current = mutable.LongMap.empty[Long]
  private[this] var tree: ViewTree = _
  private[this] var batch: ChangeBatch = _
  private[this] var delta: DeltaEnumeration = _
  private[this] val rowsOfResult = new Array[Int](relations)
  private[this] val residuals: IndexedSeq[Residual] = query.residuals.map { condition =>
    new Residual {
      def relations: IndexedSeq[Int] = condition.relations
      def accept(rows: Array[Int]): Boolean = condition.accept(r => stockRow(r, rows(r)))
    }
  }
  private[this] val positions = new PositionsCheck(
    relations,
    stockRow,
    rows => query.residuals.forall(_.accept(rows)),
    random
  )
  private[this] val lookups = new LookupCheck(query, residuals, weights, random)
  private[this] var appended = 0L
  private[this] var stepsRehearsed = 0L
  private[this] var stepsOfRehearsal = -1L
  private[this] val slots = query.tree.preorder.size
  fresh()

  /** Counts of what the case covered. */
  var batchesDone, batchesRefused, rehearsals, timesEmptied, resultsGained, resultsLost, runs = 0

  /** The number of results that were found by their positions. */
  def resultsLocated: Long = positions.found

  /** The numbers of results that were looked up, by keys and by scans. */
  def resultsLookedUp: (Long, Long) = (lookups.foundByKey, lookups.foundByScan)

  /** The number of groups whose aggregates a batch changed. */
  def aggregatesChanged: Int = aggregates.fold(0)(_.changed)

  /** @throws Mismatch naming the batch and what differs */
  def run(): Unit =
    for (changes <- query.batches) {
      try play(changes)
      catch {
        case e: Mismatch => throw e
        case e: Exception => throw new Mismatch(s"batch $batchesDone: $e", e)
      }
      batchesDone += 1
    }

  private def fresh(): Unit = {
    tree = new ViewTree(query.block, aggregates.map(_.definition), orderChoice)
    stepsRehearsed = 0L
    batch = new ChangeBatch(tree, residuals, query.negatives)
    delta = new DeltaEnumeration(tree, residuals)
  }

  private def play(changes: IndexedSeq[CaseChange]): Unit = {
    val before = oracle.multiplicity.map(_.clone())
    oracle(changes)
    if (!query.negatives && oracle.multiplicity.exists(_.exists(_ < 0))) {
      oracle.multiplicity.indices.foreach(r => before(r).copyToArray(oracle.multiplicity(r)))
      refused(changes)
    } else {
      val next = oracle.result()
      val once = (before ++ oracle.multiplicity).forall(_.forall(_ <= 1))
      stepsOfRehearsal = -1L
      if (random.nextInt(4) == 0) rehearse(changes)
      val difference = next.clone()
      for ((key, weight) <- current) add(difference, key, -weight)
      val last = current
      current = next
      val steps = tree.counters.steps
      appended += changes.count(c => !query.inputs(c.input).retractable)
      val emitted =
        if (appendOnly && aggregates.isEmpty && random.nextBoolean()) insertOneByOne(changes, once)
        else playBatch(changes, once)
      for (check <- aggregates; what <- check.drain(tree, batch, last, current)) expect(holds = false, what)
      expectSame("delta", difference, emitted)
      val taken = tree.counters.steps - steps
      expect(stepsOfRehearsal < 0 || taken == stepsOfRehearsal, s"$taken steps, rehearsed in $stepsOfRehearsal")
    }
    checkState()
    if (random.nextInt(20) == 0) rebuild()
  }

  private def refused(changes: IndexedSeq[CaseChange]): Unit = {
    changes.foreach(send(_, batch))
    val refused =
      try { batch.next(); false }
      catch { case _: DeleteOfAbsentRow => true }
    expect(refused, "a delete of an absent row passes")
    batchesRefused += 1
  }

  /** Applies a batch, or a part of it, and rolls it back. */
  private def rehearse(batch: IndexedSeq[CaseChange]): Unit = {
    val turned = random.nextBoolean() // so that rows stored afterwards get the ids of other rows
    rehearse(if (turned) batch.reverse else batch, turned)
  }

  private def rehearse(changes: IndexedSeq[CaseChange], turned: Boolean): Unit = {
    val (rows, steps) = (tree.rows, tree.counters.steps)
    val sequence = positions.sequence(tree)
    var results = if (random.nextBoolean()) Int.MaxValue else random.nextInt(5)
    def enough(): Boolean = { results -= 1; results < 0 }
    if (appendOnly && aggregates.isEmpty) {
      val reversal = new Reversal(tree)
      inGroups(changes) { (r, row) =>
        delta.insert(r, row)
        reversal.inserted(r, row)
        while (!enough() && delta.next()) {}
        results >= 0
      }
      delta.complete()
      reversal.undo()
    } else {
      val player = if (random.nextBoolean()) batch else new ChangeBatch(tree, residuals, query.negatives)
      changes.foreach(send(_, player))
      player.prepare()
      val reversal = new Reversal(tree)
      player.note(reversal)
      while (!enough() && player.next()) {}
      player.drain()
      if (!turned) stepsOfRehearsal = tree.counters.steps - steps
      reversal.undo()
    }
    Invariants.check(tree)
    expect(tree.rows == rows, s"${tree.rows} rows after a batch was rolled back, not $rows")
    expectSame("full enumeration after a batch was rolled back", current, fullResult())
    expect(positions.sequence(tree) == sequence, "positions change when a batch is rolled back")
    checkAggregates()
    rehearsals += 1
    stepsRehearsed += tree.counters.steps - steps
  }

  private def fullResult(): mutable.LongMap[Long] = {
    val full = new FullEnumeration(tree, residuals)
    collect(full, slots, once = false, oneSign = true, mutable.LongMap.empty)
  }

  private def weights(results: Results): mutable.LongMap[Long] =
    collect(results, levels = 1 << 20, once = false, oneSign = true, mutable.LongMap.empty)

  private def send(change: CaseChange, to: ChangeBatch): Unit = {
    val words = query.inputs(change.input).words(change.row)
    to.add(change.input, change.roles, change.weight, words, words.length)
  }

  private def playBatch(changes: IndexedSeq[CaseChange], once: Boolean): mutable.LongMap[Long] = {
    changes.foreach(send(_, batch))
    batch.prepare()
    checkSigns(changes)
    collect(batch, slots - 1, once, oneSign = !batch.repeats, into = mutable.LongMap.empty)
  }

  /** Checks the announcements of a prepared batch: counts before and after, and whether results are
    * gained and lost.
    */
  private def checkSigns(changes: IndexedSeq[CaseChange]): Unit = {
    var gains = changes.exists(c => !query.inputs(c.input).retractable)
    var losses = false
    val visited = mutable.Set.empty[(Int, Int)]
    batch.foreachChangedRow((input, row) => expect(visited.add((input, row)), s"row $row is visited twice"))
    val named = changes.filter(c => query.inputs(c.input).retractable).map { c =>
      val words = query.inputs(c.input).words(c.row)
      (c.input, tree.identity(c.input).find(words, words.length))
    }
    val changed = mutable.Set.empty[(Int, Int)]
    for ((input, row) <- named; r <- query.relations.indices if query.relations(r).input == input) {
      val (before, after) = (batch.before(r, row), batch.after(r, row))
      expect(after == oracle.multiplicity(r)(stockRow(r, row)), s"count $after is wrong")
      gains ||= after > math.max(before, 0)
      losses ||= before > math.max(after, 0)
      if (before != after) changed += ((input, row))
    }
    expect(visited == changed, s"rows $visited are visited, $changed change")
    expect(batch.bothSigns == (gains && losses), s"both signs: ${batch.bothSigns}")
  }

  /** Inserts as append-only blocks do: each row stored once, each role inserted and drained. */
  private def insertOneByOne(changes: IndexedSeq[CaseChange], once: Boolean): mutable.LongMap[Long] = {
    val all = mutable.LongMap.empty[Long]
    inGroups(changes) { (r, row) =>
      delta.insert(r, row)
      val _ = collect(delta, slots - 1, once, oneSign = true, all)
      true
    }
    all
  }

  /** Stores rows of append-only inputs, prefetches a few of them, and inserts each as long as
    * `insert` returns true; the others are freed.
    */
  private def inGroups(changes: IndexedSeq[CaseChange])(insert: (Int, Int) => Boolean): Unit = {
    val group = new PrefetchedRows(tree, near = if (random.nextBoolean()) -1 else 4)
    var more = true
    for (ahead <- changes.grouped(1 + random.nextInt(PrefetchedRows.Size)) if more) {
      for (change <- ahead) {
        val words = query.inputs(change.input).words(change.row)
        group.add(change.roles, tree.arena(change.input).append(words, 0, words.length))
      }
      if (random.nextInt(8) > 0) group.ready()
      for (i <- 0 until group.size if more) {
        for (r <- 0 until relations if (group.roles(i) >>> r & 1L) != 0) more &= insert(r, group.row(i))
        if (!more) group.free(i + 1)
      }
      group.clear()
    }
  }

  /** Collects all results, in random alternation one by one and in runs. */
  private def collect(
      from: Results,
      levels: Int,
      once: Boolean,
      oneSign: Boolean,
      into: mutable.LongMap[Long]
  ): mutable.LongMap[Long] = {
    val announced = new Array[Int](relations)
    val run = new Run
    val projected = new Projected
    var first = true
    var last = 0 // of the last run
    def next(): Boolean =
      if (last + 1 < run.size) {
        last += 1
        announced(run.relation) = run.row(last)
        projected.turn(run, last)
        true
      } else if (random.nextBoolean()) { from.next() && { announce(); true } }
      else
        from.next(run) && {
          announce()
          last = 0
          expect(announced(run.relation) == run.row(0), "a run does not begin with the next result")
          projected.turn(run, 0)
          runs += (if (run.size > 1) 1 else 0)
          true
        }
    def announce(): Unit = {
      projected.read(from.changed, from.pointers, from.rows)
      for (r <- 0 until relations)
        if ((from.changed >>> r & 1L) != 0) announced(r) = from.rows(r)
        else expect(!first && announced(r) == from.rows(r), s"relation $r changed without notice")
      first = false
    }
    var (moves, results) = (tree.counters.moves, tree.counters.results)
    def checkDelay(end: Int): Unit = if (!query.block.isBag) {
      // the cursor's results that the batch suppressed count, too
      expectDelay(tree.counters.moves - moves, levels * (tree.counters.results - results + end))
      moves = tree.counters.moves
      results = tree.counters.results
    }
    while (next()) {
      for (r <- 0 until relations) rowsOfResult(r) = stockRow(r, announced(r))
      checkDelay(end = 0)
      val key = NaiveJoin.pack(rowsOfResult)
      expect(!once || !into.contains(key), s"result ${NaiveJoin.unpack(key, relations)} emitted twice")
      expect(from.weight != 0, "a delta of weight 0")
      expect(!oneSign || !into.contains(key) || into(key) > 0 == from.weight > 0, "a result is emitted with both signs")
      into(key) = into.getOrElse(key, 0L) + from.weight
      if (from.weight > 0) resultsGained += 1 else resultsLost += 1
      expect(into.size <= 200000, "results without end")
    }
    checkDelay(end = 1)
    into.filterInPlace((_, w) => w != 0)
  }

  /** Reads projected words through their pointers, and only if they are reported as possibly
    * changed.
    */
  final private class Projected {
    private val fields = for {
      (relation, r) <- query.block.relations.zipWithIndex
      field <- relation.projected
      (pointer, offset) <- tree.location(r, field)
    } yield (r, field, pointer, offset)
    private val seen = mutable.HashMap.empty[(Int, Int), Long]

    def read(changed: Long, pointers: WordPointers, rows: Array[Int]): Unit =
      for ((r, field, pointer, offset) <- fields) {
        if ((changed >>> pointer & 1L) != 0L)
          seen((r, field)) = pointers.pages(pointer)(pointers.starts(pointer) + offset)
        check(r, field, rows(r))
      }

    def turn(run: Run, i: Int): Unit =
      for ((r, field, pointer, offset) <- fields if r == run.relation) {
        if (pointer == r) seen((r, field)) = run.records(run.from + i * run.width + 1 + offset)
        check(r, field, run.row(i))
      }

    private def check(relation: Int, field: Int, row: Int): Unit = {
      val input = query.inputs(query.relations(relation).input)
      val arena = tree.arena(query.relations(relation).input)
      val word = arena.page(row)(arena.start(row) + (input.columns.size + 63) / 64 + field)
      val isNull = (arena.page(row)(arena.start(row) + (field >>> 6)) >>> (field & 63) & 1L) != 0L
      expect(
        !isNull || tree.location(relation, field).exists(_._1 < relations),
        s"a NULL of field $field is read from a key"
      )
      expect(seen.get((relation, field)).contains(word), s"field $field of relation $relation is another row's")
    }
  }

  private def expectDelay(moves: Long, levels: Long): Unit =
    expect(residuals.nonEmpty || moves <= 2L * levels, s"$moves moves between two results, with $levels levels")

  private def changelog(relation: Int): Boolean = query.inputs(query.relations(relation).input).retractable

  /** The expected number of stored rows: an append-only row is stored once per change, a changelog
    * row once, whatever its roles and copies.
    */
  private def storedRows: Long = {
    val distinct = for {
      r <- 0 until relations if changelog(r)
      row <- oracle.multiplicity(r).indices if oracle.multiplicity(r)(row) != 0
    } yield (query.relations(r).input, row)
    appended + distinct.distinct.size
  }

  private def checkState(): Unit = {
    Invariants.check(tree)
    expect(tree.rows == storedRows, s"${tree.rows} rows stored, not $storedRows")
    if (random.nextInt(4) == 0) {
      expectSame("full enumeration", current, fullResult())
      checkMembership()
      checkAggregates()
      for (what <- positions.differs(tree, current)) expect(holds = false, what)
      for (what <- lookups.differs(tree, current)) expect(holds = false, what)
    }
    if (appended == 0 && oracle.multiplicity.forall(_.forall(_ == 0))) {
      timesEmptied += 1
      expect(tree.isEmpty, "not empty")
    }
    if (appendOnly) {
      val pairs = tree.nodes.map {
        case g: GeneralizedViews => g.domain.size.toLong * g.childCount
        case r: RelationViews => oracle.multiplicity(r.id).sum * r.childCount
      }.sum
      val steps = tree.counters.steps - stepsRehearsed
      expect(steps <= pairs, s"$steps steps for $pairs pairs")
    }
  }

  private def checkAggregates(): Unit =
    for (check <- aggregates; what <- check.differs(tree, current)) expect(holds = false, what)

  private def checkMembership(): Unit = if (!query.block.isBag) {
    val membership = new Membership(tree)
    for (_ <- 1 to 3) {
      val rows =
        if (current.nonEmpty && random.nextBoolean())
          NaiveJoin.unpack(current.keysIterator.drop(random.nextInt(current.size)).next(), relations)
        else query.relations.map(r => random.nextInt(query.inputs(r.input).rows.size))
      val possible = rows.indices.forall(r => (query.roles(query.relations(r).input, rows(r)) >>> r & 1L) != 0)
      if (possible && query.residuals.forall(_.accept(rows))) {
        val weight = membership.weight(rows.indices.map(r => query.inputs(query.relations(r).input).words(rows(r))))
        expect(weight == current.getOrElse(NaiveJoin.pack(rows.toArray), 0L), s"weight $weight of row $rows")
      }
    }
  }

  /** Replaces the tree by a new one, filled with the present rows in any order, as after a restart.
    */
  private def rebuild(): Unit = {
    val rows = for {
      r <- 0 until relations
      row <- oracle.multiplicity(r).indices if oracle.multiplicity(r)(row) != 0
    } yield (r, row, oracle.multiplicity(r)(row))
    val sequence = positions.sequence(tree)
    fresh()
    appended = rows.map { case (r, _, count) => if (changelog(r)) 0 else count }.sum
    val inBatches = !appendOnly || aggregates.isDefined
    val restored = inBatches && random.nextBoolean()
    if (restored) restore(random.shuffle(rows))
    else for ((r, row, count) <- random.shuffle(rows)) {
      val input = query.relations(r).input
      if (appendOnly && aggregates.isEmpty) {
        val words = query.inputs(input).words(row)
        for (_ <- 1L to count) delta.load(r, tree.arena(input).append(words, 0, words.length))
      } else if (query.inputs(input).retractable) send(CaseChange(input, row, 1L << r, count), batch)
      else for (_ <- 1L to count) send(CaseChange(input, row, 1L << r, 1L), batch)
    }
    if (inBatches && !restored) { while (batch.next()) {}; batch.drain() }
    expect(positions.sequence(tree) == sequence, "positions change when a tree is rebuilt")
    checkState()
  }

  /** Restores rows, with counts that are set to a wrong value first, and with rows that turn out to
    * be deleted.
    */
  private def restore(rows: IndexedSeq[(Int, Int, Long)]): Unit = {
    val restoration = new Restoration(tree, near = -1)
    for ((r, row, count) <- rows) {
      val input = query.relations(r).input
      val words = query.inputs(input).words(row)
      if (!query.inputs(input).retractable)
        for (_ <- 1L to count) restoration.load(1L << r, tree.arena(input).append(words, 0, words.length))
      else {
        val other = query.inputs(input).words(random.nextInt(query.inputs(input).rows.size))
        val _ = restoration.find(input, other, other.length)
        val id = restoration.find(input, words, words.length)
        restoration.set(1L << r, id, random.nextInt(5) - 2L)
        restoration.set(1L << r, id, count)
      }
    }
    restoration.finish()
  }

  private def stockRow(relation: Int, row: Int): Int = {
    val input = query.relations(relation).input
    val arena = tree.arena(input)
    val start = arena.start(row)
    query.inputs(input).rowOf(arena.page(row), start, arena.words(row))
  }

  private def expectSame(what: String, expected: mutable.LongMap[Long], found: mutable.LongMap[Long]): Unit =
    if (expected != found) {
      val key = (expected.keySet ++ found.keySet).find(k => expected.get(k) != found.get(k)).get
      expect(
        holds = false,
        s"$what: result ${NaiveJoin.unpack(key, relations)} has weight ${found.getOrElse(key, 0L)}, not ${expected.getOrElse(key, 0L)}"
      )
    }

  private def add(into: mutable.LongMap[Long], key: Long, weight: Long): Unit = {
    val sum = into.getOrElse(key, 0L) + weight
    if (sum == 0) into -= key else into(key) = sum
  }

  private def expect(holds: Boolean, what: => String): Unit =
    if (!holds) throw new Mismatch(s"batch $batchesDone: $what", null)
}

final class Mismatch(what: String, cause: Throwable) extends RuntimeException(what, cause)
