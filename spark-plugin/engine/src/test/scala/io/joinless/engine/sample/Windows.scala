package io.joinless.engine.sample

import io.joinless.engine.oracle.Case

/** Rows that expire: each copy of an inserted row is deleted again some batches later, as by an
  * operator that forgets rows by time.
  */
object Windows {

  /** The insertions of a case, which expire after so many batches; then come batches until all have.
    */
  def over(query: Case, lasts: Int): Case = {
    val inserted = query.batches.map(_.filter(_.weight > 0))
    val batches = for (b <- 0 until inserted.size + lasts) yield {
      val expired = inserted.lift(b - lasts).getOrElse(IndexedSeq.empty)
      expired.map(change => change.copy(weight = -change.weight)) ++ inserted.lift(b).getOrElse(IndexedSeq.empty)
    }
    query.copy(batches = batches, negatives = false)
  }
}
