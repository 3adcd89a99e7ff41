package io.joinless.engine.enumerate

/** Results with constant delay, one after the other or run by run, as the caller likes.
  *
  * {{{
  * while (results.next()) emit(results.rows, results.weight)
  *
  * val run = new Run
  * while (results.next(run))                       // the other relations' rows and the weight are those of all
  *   for (i <- 0 until run.size) emit(results.rows.updated(run.relation, run.row(i)), results.weight)
  * }}}
  */
trait Results {

  /** Row id per relation; holds until the next call of `next`. */
  def rows: Array[Int]

  /** Where what results show lies; holds as long. */
  def places: Places

  /** Relations and other places (bit set) whose row, or words, may differ from those of the result before; all the first time. */
  def changed: Long

  /** How many copies there are; of changes, how many come, negative where they go. */
  def weight: Long

  def next(): Boolean

  /** As `next`, but takes all results that differ from the next one in the row of one relation only. */
  def next(run: Run): Boolean
}
