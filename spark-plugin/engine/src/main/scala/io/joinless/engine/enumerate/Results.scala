package io.joinless.engine.enumerate

/** Results with constant delay, one by one or run by run.
  *
  * {{{
  * while (results.next()) emit(results.rows, results.weight)
  *
  * val run = new Run
  * while (results.next(run)) // the other relations' rows and the weight are those of all
  *   for (i <- 0 until run.size)
  *     emit(results.rows.updated(run.relation, run.row(i)), results.weight)
  * }}}
  */
trait Results {

  /** Row id per relation; valid until the next call of `next`. */
  def rows: Array[Int]

  /** Pointers to the projected words; valid as long as `rows`. */
  def pointers: WordPointers

  /** The relations whose row, and the other pointers whose words, may differ from those of the
    * previous result (bit set). For the first result, all.
    */
  def changed: Long

  /** The multiplicity of the result; of a delta, its signed change: negative for deletes. */
  def weight: Long

  def next(): Boolean

  /** As `next`, but takes all results that differ from the next one only in the row of one
    * relation.
    */
  def next(run: Run): Boolean
}
