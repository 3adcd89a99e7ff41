package io.joinless.engine.update

import io.joinless.engine.enumerate.{Places, Residual, Results, Run}
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.ViewTree

/** A batch of signed changes and the changes of the result that it makes (algorithms A29 to A34, architecture D6):
  * netted (consolidated), then all deletions, then changes of multiplicity, then all insertions.
  *
  * {{{
  * changes.foreach(c => batch.add(c.input, c.roles, c.weight, c.words, c.words.length))
  * batch.prepare()                                  // from here to the first next(): foreachChangedRow, before, after
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
  * words per entry of the net ([[Net]]) and appended row, and a byte per row id, up to the largest, where several relations replace
  * rows.
  *
  * This is the way of a batch; its stations are [[CollectedChanges]] (collect and net), [[ApplyOrder]] (sort),
  * [[BatchApplication]] (apply), [[BatchDeltas]] (enumerate) and [[Reversal]] (undo).
  *
  * @throws io.joinless.engine.algebra.WeightOverflow from any call: the tree must be given up then
  */
final class ChangeBatch(tree: ViewTree, residuals: IndexedSeq[Residual], owe: Boolean = false)
    extends NettedBatch(tree) with Results {
  private[this] val delta = new DeltaEnumeration(tree, residuals)
  private[this] val order = new ApplyOrder(tree, changes)
  private[this] val application = new BatchApplication(changes, order, delta)
  private[this] val deltas = new BatchDeltas(changes, order, application, delta)

  val rows: Array[Int] = delta.rows
  val places: Places = delta.places
  def changed: Long = deltas.changed
  def weight: Long = delta.weight

  /** A prepared batch has changes of both signs that results may show. */
  def bothSigns: Boolean = order.bothSigns

  /** In a prepared batch: the same combination of rows may come several times, and with both signs. (An appended row may be
    * equal to one that is there, which is as if its count went up.)
    */
  def repeats: Boolean = order.repeats

  /** Sorts the net changes by what they do. */
  override protected def arrange(): DeleteOfAbsentRow = {
    val refusal = order.arrange(owe)
    if (refusal != null) order.clear()
    refusal
  }

  override protected def begin(): Unit = {
    application.begin()
    deltas.begin()
  }

  def next(): Boolean = {
    prepare()
    deltas.next() || { complete(); false }
  }

  def next(run: Run): Boolean = {
    prepare()
    deltas.next(run) || { complete(); false }
  }

  override def drain(): Unit = {
    prepare()
    application.drain()
    complete()
  }

  private def complete(): Unit = {
    application.end()
    settle()
    order.clear()
    deltas.end()
  }
}

private[update] object ChangeBatch {

  @inline def each(entries: IntStack)(f: Int => Unit): Unit = {
    var i = 0
    while (i < entries.size) { f(entries(i)); i += 1 }
  }
}
