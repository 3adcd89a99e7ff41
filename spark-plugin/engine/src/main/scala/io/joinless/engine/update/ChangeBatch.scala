package io.joinless.engine.update

import io.joinless.engine.enumerate.{Residual, Results, Run, WordPointers}
import io.joinless.engine.view.ViewTree

/** A batch of signed changes and its deltas of the result (algorithms A29 to A34, architecture D6).
  * It is netted (consolidated); then all deletions are applied, then changes of multiplicity, then
  * all insertions.
  *
  * {{{
  * changes.foreach(c => batch.add(c.input, c.roles, c.weight, c.words, c.words.length))
  * batch.prepare() // from here to the first next(): foreachChangedRow, before, after
  * while (batch.next()) emit(batch.rows, batch.weight)
  * }}}
  *
  * Over R(a,b) ⋈ S(b,c) ⋈ T(c,d) with R(1,10), R(2,10), S(10,7), S(10,8), T(8,5):
  * {{{
  * added:  +T(7,6)  +T(7,9)  −R(2,10)  −T(7,9)
  * order:  −R(2,10)    emitted: −(2,10,8,5)
  *         +T(7,6)     emitted: +(1,10,7,6)
  *
  * in the opposite order, +(2,10,7,6) and −(2,10,7,6) would be emitted, too
  * }}}
  *
  * A row with count m has the multiplicity max(m, 0). A change between positive counts changes a
  * multiplicity; a change across zero inserts or deletes. Negative multiplicities (a delete before
  * its insert) exist only with `negatives`; without, a batch that deletes an absent row fails as
  * a whole, before anything is applied.
  *
  * ''Same-key replacement'' (algorithms A31): if deletions would remove the last alive tuples of a
  * key of V_p and insertions of the same relation restore it, those insertions are applied just
  * before those deletions. So V_p stays unchanged, and the support of the key's parents is not
  * decremented and incremented: O(1) for a row replaced by one with the same key.
  *
  * ''Transient results'' (algorithms A32), of half-applied replacements: a combination of a row
  * that the batch inserts and one that it deletes is a result neither before nor after, but
  * replacements in several relations can make it one in between. It is suppressed both times:
  * {{{
  * before: R(1,10) S(10,8) T(8,5)      batch: R(1,10) becomes R(3,10), T(8,5) becomes T(8,6)
  * +R(3,10)   (3,10,8,5) suppressed: T(8,5) is deleted
  * +T(8,6)    (1,10,8,6) suppressed: R(1,10) is deleted      +(3,10,8,6)
  * −R(1,10)   (1,10,8,6) suppressed: T(8,6) is inserted      −(1,10,8,5)
  * −T(8,5)    (3,10,8,5) suppressed: R(3,10) is inserted
  * }}}
  *
  * Invariants: the sum of the emitted deltas is the change of the result (I7). Each combination of
  * rows changes with one sign only, unless `repeats`: then a consumer that needs net changes must
  * add them up. A combination changes at most once if no multiplicity changes. `next` must be
  * drained before the next batch.
  *
  * Cost: one probe per added change, then that of each net change ([[DeltaEnumeration]]). Memory: a
  * constant number of words per entry of the net batch ([[Net]]) and appended row, and, if several
  * relations replace rows, a byte per row id up to the largest.
  *
  * The stages of a batch are [[CollectedChanges]] (collect and net), [[ApplyOrder]] (sort),
  * [[BatchApplication]] (apply), [[BatchDeltas]] (enumerate) and [[Reversal]] (roll back).
  *
  * @throws io.joinless.engine.algebra.WeightOverflow from any call; the tree must then be discarded
  */
final class ChangeBatch(tree: ViewTree, residuals: IndexedSeq[Residual], negatives: Boolean = false)
    extends NettedBatch(tree) with Results {
  private[this] val delta = new DeltaEnumeration(tree, residuals)
  private[this] val order = new ApplyOrder(tree, changes)
  private[this] val application = new BatchApplication(changes, order, delta)
  private[this] val deltas = new BatchDeltas(changes, order, application, delta)

  private[this] val annotations = if (tree.aggregates.isEmpty) null else new TreeAnnotations(tree)
  private[this] var isApplied = false // all rows and views are those after the batch

  /** The changes of the tree's aggregates; null if it has none. They must be drained after the
    * results, as a part of the batch.
    */
  val aggregates: AggregateChanges =
    if (annotations == null) null else new AggregateChanges(tree, annotations, applyRest _, end _)

  val rows: Array[Int] = delta.rows
  val pointers: WordPointers = delta.pointers
  def changed: Long = deltas.changed
  def weight: Long = delta.weight

  /** Whether the prepared batch has changes of both signs that results may show. */
  def bothSigns: Boolean = order.bothSigns

  /** Whether the prepared batch may emit the same combination of rows several times, and with both
    * signs. (An appended row may equal a present row, which is like an increment of its count.)
    */
  def repeats: Boolean = order.repeats

  /** Classifies the net changes and puts them in order. */
  override protected def arrange(): DeleteOfAbsentRow = {
    val refusal = order.arrange(negatives)
    if (refusal != null) order.clear()
    refusal
  }

  /** Returns application and enumeration to before the first step of the prepared batch. */
  override protected def begin(): Unit = {
    application.begin()
    deltas.begin()
  }

  /** Moves to the next result of the batch, and applies changes up to it; false after the last one,
    * when all are applied.
    */
  def next(): Boolean = {
    prepare()
    deltas.next() || { complete(); false }
  }

  /** As `next`, with all results in `run` that differ only in the row of one relation. */
  def next(run: Run): Boolean = {
    prepare()
    deltas.next(run) || { complete(); false }
  }

  override def drain(): Unit = {
    applyRest()
    if (annotations == null) end() else aggregates.drain()
  }

  /** Applies all changes, without the results that were not read yet. */
  private def applyRest(): Unit = {
    prepare()
    application.drain()
    applied()
  }

  /** Completes a batch of which all results were read. */
  private def complete(): Unit = {
    applied()
    if (annotations == null) end()
  }

  /** Called after the last change was applied: ends the application, and brings the annotations up to
    * date, once per batch.
    */
  private def applied(): Unit = if (!isApplied) {
    isApplied = true
    application.end()
    if (annotations != null) {
      annotations.change(changes)
      annotations.update()
    }
  }

  /** Forgets a batch that was applied, so that the next one can be added. With aggregates, these
    * call it after their last change.
    */
  private def end(): Unit = {
    isApplied = false
    finish()
    order.clear()
    deltas.end()
  }
}
