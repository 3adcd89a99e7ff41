package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.update.{DeleteOfAbsentRow, NettedBatch, Reversal}

/** A batch of signed changes and its delta of the results of a [[ReducedJoin]].
  *
  * {{{
  * changes.foreach(c => batch.add(c.input, c.roles, c.weight, c.words, c.words.length))
  * while (batch.next()) emit(batch.rows, batch.element)
  * }}}
  * A result is a row of each component, with its ids in `rows`; `element` is the change of its
  * element, never 0. A result may be emitted several times; its changes then add up. `next` must be
  * drained before the next batch.
  *
  * @throws io.joinless.engine.algebra.WeightOverflow from any call; the state must then be
  *     discarded
  */
final class ReducedBatch(join: ReducedJoin, residuals: IndexedSeq[Residual], negatives: Boolean = false)
    extends NettedBatch(join) {
  private[this] val sums = ResultChanges(join, residuals)

  def rows: Array[Int] = sums.rows
  def element: Array[Long] = sums.element

  /** The change of the number of results. */
  def weight: Long = sums.element(0)

  /** Reads the result's element before the batch. For a join with one component, which emits each
    * result once.
    */
  def readBefore(into: Array[Long]): Unit = sums.readBefore(into)

  /** The components whose row differs from that of the previous result (bit set); for the first
    * result, all.
    */
  def changed: Long = sums.changed

  /** Checks whether the batch may be applied: the first delete of an absent row, or null. */
  override protected def arrange(): DeleteOfAbsentRow = {
    var e = if (changes.onlyGrows) changes.size else 0 // a batch that only grows is not refused
    while (e < changes.size) {
      val refusal = changes.refusal(e, changes.before(e), changes.after(e), negatives)
      if (refusal != null) return refusal
      e += 1
    }
    null
  }

  /** Passes the net changes to the nodes of their relations. An entry without a net change also
    * counts for `present`: it may be the first one of a row that changes in another relation.
    */
  override protected def begin(): Unit = {
    var e = 0
    while (e < changes.size) {
      val (before, after) = (changes.before(e), changes.after(e))
      if (join.hasOtherKeys(changes.input(e))) join.present.change(changes, e)
      if (before != after) {
        var roles = changes.roles(e)
        while (roles != 0L) {
          join.relationSums(java.lang.Long.numberOfTrailingZeros(roles)).change(changes.row(e), before, after)
          roles &= roles - 1
        }
      }
      e += 1
    }
  }

  /** Propagates the batch to all sums but those of projected rows, which the first `next` updates.
    */
  def propagate(): Unit = {
    prepare()
    sums.start()
  }

  /** Moves to the next result that changes; after the last one the batch is finished. */
  override def next(): Boolean = {
    prepare()
    sums.next() || { finish(); false }
  }

  override def drain(): Unit = {
    prepare()
    sums.drain()
    finish()
  }
}

object ReducedBatch {

  /** Records a batch so that it can be rolled back. */
  def reversal(join: ReducedJoin): Reversal =
    new Reversal(
      join,
      (_, _) => throw new IllegalStateException("all rows of a reduced join are counted"),
      () => new ReducedBatch(join, IndexedSeq.empty, negatives = true)
    )
}
