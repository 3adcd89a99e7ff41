package io.joinless.engine.enumerate

import io.joinless.engine.algebra.{DeleteOfAbsentRow, Net, Weight}
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.{RelationNode, ViewTree}

/** A batch of signed changes and the changes of the result that it makes (algorithms A29 to A34, architecture D6):
  * netted (consolidated), then all deletions, then changes of multiplicity, then all insertions.
  *
  * {{{
  * changes.foreach(c => batch.add(c.input, c.roles, c.weight, c.words, c.words.length))
  * batch.prepare()                                  // from here to the first next(): size, relation, row, before, after
  * while (batch.next()) emit(batch.rows, batch.weight)
  * }}}
  *
  * Over R(a,b) ⋈ S(b,c) ⋈ T(c,d) with R(1,10), R(2,10), S(10,7), S(10,8), T(8,5):
  * {{{
  * added:  +T(7,6)  +T(7,9)  −R(2,10)  −T(7,9)
  * order:  −R(2,10)    handed out: −(2,10,8,5)
  *         +T(7,6)     handed out: +(1,10,7,6)      the other way round, (2,10,7,6) would come and go
  * }}}
  *
  * A row with count m is there max(m, 0) times: what leaves a count positive changes a multiplicity, what crosses zero
  * inserts or deletes. Counts below zero (''owed'' rows) exist only with `owe`; without, a batch that deletes an absent row
  * fails as a whole, before anything is applied.
  *
  * ''Same-key replacement'' (algorithms A31): where deletions would take the last alive tuples of a key of V_p and
  * insertions of the same relation bring it back, those insertions come just before those deletions, so that V_p stays
  * as it is and the parents of that key are not counted down and up: O(1) for a row replaced by one with the same key.
  *
  * ''Passing results'' (algorithms A32), of half-applied replacements: a combination with a row that the batch inserts
  * and one that it deletes is no result before nor after, but replacements in several relations make it one in between.
  * It is left out where it is met, both times:
  * {{{
  * before: R(1,10) S(10,8) T(8,5)      batch: R(1,10) becomes R(3,10), T(8,5) becomes T(8,6)
  * +R(3,10)   (3,10,8,5) left out: T(8,5) goes
  * +T(8,6)    (1,10,8,6) left out: R(1,10) goes      +(3,10,8,6)
  * −R(1,10)   (1,10,8,6) left out: T(8,6) comes      −(1,10,8,5)
  * −T(8,5)    (3,10,8,5) left out: R(3,10) comes
  * }}}
  *
  * Invariants: the sum of what is handed out is the change of the result (I7). Each combination of rows changes with
  * one sign only, unless `repeats`: then its changes must be added up by whoever needs them net. It changes at most
  * once where no multiplicity changes. `next` is to be drained before the next batch.
  *
  * Cost: one probe per change added, then that of each net change ([[DeltaEnumeration]]). Memory: a constant number of
  * words per net change and appended row, and a byte per row id, up to the largest, where several relations replace
  * rows.
  *
  * @throws io.joinless.engine.algebra.WeightOverflow from any call: the tree must be given up then
  */
final class ChangeBatch(tree: ViewTree, residuals: IndexedSeq[Residual], owe: Boolean = false) {
  private[this] val block = tree.block
  private[this] val delta = new DeltaEnumeration(tree, residuals)
  private[this] val net = new Net(block.relations.size)
  private[this] val appendedRelations = new IntStack
  private[this] val appendedRows = new IntStack

  // entries of the net, by what they do; `order` is how they are applied
  private[this] val deletions = new IntStack
  private[this] val reweighings = new IntStack
  private[this] val insertions = new IntStack
  private[this] val absences = new IntStack // of rows that were and stay absent
  private[this] val order = new IntStack
  private[this] var increases = false
  private[this] var decreases = false
  private[this] var reweighsUp = false
  private[this] var reweighsDown = false

  // same-key replacements: their relations, and the places in `order` of their insertions and deletions
  private[this] var refilled = 0L
  private[this] var firstRefill = 0
  private[this] var lastRefill = 0
  private[this] var lastRefilled = 0
  private[this] val replacements = new Replacements(block.relations.size)
  private[this] var opposite = Replacements.None // rows that make a result of the pending change a passing one
  private[this] var unseen = 0L // what changed in passing results since the last one handed out
  private[this] var prepared = false
  private[this] var position = 0

  val rows: Array[Int] = delta.rows
  def changed: Long = delta.changed | unseen
  def weight: Long = delta.weight

  /** Number of pairs (relation, row) of retractable inputs that the batch names; some may have no net change. */
  def size: Int = net.size
  def relation(entry: Int): Int = net.relation(entry)
  def row(entry: Int): Int = net.row(entry)

  /** Counts of the row in the relation before and after a prepared batch of which nothing was applied yet. */
  def before(relation: Int, row: Int): Long = tree.relation(relation).multiplicity(row)
  def after(relation: Int, row: Int): Long = Weight.add(before(relation, row), net.change(relation, row))

  /** A prepared batch has changes of both signs that results may show. */
  def bothSigns: Boolean = (increases || appendedRows.size > 0) && decreases

  /** In a prepared batch: the same combination of rows may come several times, and with both signs. (An appended row may be
    * equal to one that is there, which is as if its count went up.)
    */
  def repeats: Boolean = reweighsDown && (reweighsUp || appendedRows.size > 0 || refilled != 0L)

  /** A change of the relations `roles` (bit set), all of them roles of `input`: `weight` copies of the row in `words`. */
  def add(input: Int, roles: Long, weight: Long, words: Array[Long], count: Int): Unit = {
    require(!prepared, "the results of the batch before are not drained")
    require(roles != 0L, "a change concerns at least one relation")
    val identity = tree.identity(input)
    if (identity == null) {
      require(weight == 1L, "rows of an append-only input come one by one")
      val row = tree.arena(input).append(words, 0, count)
      foreachRole(roles) { r => appendedRelations.push(r); appendedRows.push(row) }
    } else {
      val row = identity.findOrAdd(words, count)
      foreachRole(roles)(r => if (net.add(r, row, weight)) identity.retain(row))
    }
  }

  @inline private def foreachRole(roles: Long)(f: Int => Unit): Unit = {
    var left = roles
    while (left != 0) {
      f(java.lang.Long.numberOfTrailingZeros(left))
      left &= left - 1
    }
  }

  def next(): Boolean = {
    prepare()
    unseen = 0L
    while (true) {
      while (delta.next()) {
        if (opposite == Replacements.None || !replacements.meet(opposite, refilled, delta.rows)) return true
        unseen |= delta.changed
      }
      if (!applyNext()) { complete(); return false }
    }
    false
  }

  /** What a prepared batch will do, to take it back afterwards. */
  def reversal(): Reversal = {
    val reversal = new Reversal(tree)
    for (e <- 0 until net.size if net.change(e) != 0L) reversal.changed(net.relation(e), net.row(e), net.change(e))
    for (i <- 0 until appendedRows.size) reversal.came(appendedRelations(i), appendedRows(i))
    reversal
  }

  /** Applies what is left of the batch without handing out results. */
  def drain(): Unit = {
    prepare()
    while (applyNext()) {}
    delta.complete()
    complete()
  }

  /** Nets the batch and sorts the net changes by what they do. Every pair whose count is not 0 holds a reference to its
    * row, and so does every pair of the batch until that is drained.
    */
  def prepare(): Unit = if (!prepared) {
    var e = 0
    while (e < net.size) {
      val before = this.before(net.relation(e), net.row(e))
      val change = net.change(e)
      val after = Weight.add(before, change)
      if (after < 0 && change < 0 && !owe) {
        val failure = absent(e, before)
        abandon()
        throw failure
      }
      if (change != 0) sort(e, before, after)
      e += 1
    }
    arrange()
    prepared = true
    position = 0
  }

  private def sort(entry: Int, before: Long, after: Long): Unit = {
    if (before <= 0 && after <= 0) absences.push(entry)
    else if (before <= 0) insertions.push(entry)
    else if (after <= 0) deletions.push(entry)
    else {
      reweighings.push(entry)
      if (after > before) reweighsUp = true else reweighsDown = true
    }
    if (after > math.max(before, 0)) increases = true
    else if (before > math.max(after, 0)) decreases = true
  }

  /** Deletions, but those of keys that are refilled; the insertions that refill, those deletions; changes of multiplicity;
    * all other insertions.
    */
  private def arrange(): Unit = {
    if (deletions.size > 0 && insertions.size > 0) {
      each(deletions)(e => if (canEmpty(e)) { val _ = node(e).gone.add(node(e).key(net.row(e)), 1) })
      each(insertions)(e => if (refills(e)) refilled |= 1L << net.relation(e))
    }
    if (refilled == 0L) each(deletions)(order.push(_))
    else {
      each(deletions)(e => if (!isRefilled(e)) order.push(e))
      firstRefill = order.size
      each(insertions)(e => if (refills(e)) order.push(e))
      lastRefill = order.size
      each(deletions)(e => if (isRefilled(e)) order.push(e))
      lastRefilled = order.size
    }
    each(reweighings)(order.push(_))
    each(insertions)(e => if (refilled == 0L || !refills(e)) order.push(e))
    if (insertions.size > 0) each(deletions)(e => if (canEmpty(e)) node(e).gone(node(e).key(net.row(e))) = 0)
    if (java.lang.Long.bitCount(refilled) > 1)
      for (at <- firstRefill until lastRefilled)
        mark(at, if (at < lastRefill) Replacements.Comes else Replacements.Goes)
  }

  private def mark(at: Int, what: Int): Unit = replacements.mark(net.relation(order(at)), net.row(order(at)), what)

  private def node(entry: Int): RelationNode = tree.relation(net.relation(entry))

  /** The entry's deletion takes an alive tuple from a key of V_p. */
  private def canEmpty(entry: Int): Boolean = !node(entry).isRoot && node(entry).isAlive(net.row(entry))

  /** The batch deletes all alive tuples of the key that the entry deletes from, and brings others. */
  private def isRefilled(entry: Int): Boolean =
    canEmpty(entry) && node(entry).gone(node(entry).key(net.row(entry))) == ChangeBatch.Refilled

  /** The entry inserts under a key whose alive tuples the batch deletes, all of them; marks the key. */
  private def refills(entry: Int): Boolean = !node(entry).isRoot && {
    val n = node(entry)
    val key = tree.keyAbove(n, net.row(entry))
    key >= 0 && (n.gone(key) == ChangeBatch.Refilled || n.gone(key) > 0 && n.gone(key) == n.vs.count(key) && {
      n.gone(key) = ChangeBatch.Refilled
      true
    })
  }

  private def each(entries: IntStack)(f: Int => Unit): Unit = {
    var i = 0
    while (i < entries.size) { f(entries(i)); i += 1 }
  }

  private def absent(entry: Int, present: Long): DeleteOfAbsentRow = {
    val arena = tree.relation(net.relation(entry)).arena
    val row = net.row(entry)
    val words = (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i))
    new DeleteOfAbsentRow(net.relation(entry), words, present, net.change(entry))
  }

  /** Starts the next change; false where there is none. */
  private def applyNext(): Boolean = {
    val at = position
    position += 1
    opposite =
      if (replacements.isEmpty || at < firstRefill || at >= lastRefilled) Replacements.None
      else if (at < lastRefill) Replacements.Goes
      else Replacements.Comes
    if (at < order.size) {
      val relation = net.relation(order(at))
      val row = net.row(order(at))
      val before = this.before(relation, row)
      val after = this.after(relation, row)
      if (before <= 0) delta.insert(relation, row, after)
      else if (after <= 0) delta.delete(relation, row, after)
      else delta.reweigh(relation, row, after)
    } else if (at < order.size + appendedRows.size)
      delta.insert(appendedRelations(at - order.size), appendedRows(at - order.size))
    else return false
    true
  }

  /** Sets the counts of rows that were and stay absent; gives back the references that the batch held and those of rows
    * that are gone.
    */
  private def complete(): Unit = {
    each(absences) { e =>
      val counts = node(e).multiplicity
      counts(net.row(e)) = counts(net.row(e)) + net.change(e)
    }
    var e = 0
    while (e < net.size) {
      val after = node(e).multiplicity(net.row(e))
      val before = after - net.change(e)
      if (before == 0 && after != 0) retain(e)
      if (before != 0 && after == 0) release(e)
      e += 1
    }
    releaseEntries()
    prepared = false
  }

  private def abandon(): Unit = {
    var i = 0
    while (i < appendedRows.size) {
      // the roles of a row stand together; rows of different inputs may have the same id
      val arena = tree.relation(appendedRelations(i)).arena
      val again =
        i > 0 && appendedRows(i) == appendedRows(i - 1) && (tree.relation(appendedRelations(i - 1)).arena eq arena)
      if (!again) arena.free(appendedRows(i))
      i += 1
    }
    releaseEntries()
  }

  private def releaseEntries(): Unit = {
    var e = 0
    while (e < net.size) { release(e); e += 1 }
    net.clear()
    deletions.clear(); reweighings.clear(); insertions.clear(); absences.clear(); order.clear()
    appendedRelations.clear(); appendedRows.clear()
    refilled = 0L
    replacements.clear()
    increases = false
    decreases = false
    reweighsUp = false
    reweighsDown = false
  }

  private def retain(entry: Int): Unit = tree.identity(node(entry).input).retain(net.row(entry))

  private def release(entry: Int): Unit = {
    val _ = tree.identity(node(entry).input).release(net.row(entry))
  }
}

private object ChangeBatch {

  /** Stands in place of the number of a key's tuples that die. */
  final private val Refilled = -1
}
