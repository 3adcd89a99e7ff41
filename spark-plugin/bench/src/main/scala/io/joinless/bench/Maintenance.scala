package io.joinless.bench

/** An algorithm that maintains the result of a [[GraphQuery]] and visits every inserted or deleted
  * row.
  *
  * `plus` and `minus` count those rows; `check` is the sum of ±(x_1 + 7)(x_last + 11) ± Σ (2 i + 1)
  * x_i over them, modulo 2^64, as benchmarks/jobs.py defines it.
  */
trait Maintenance extends Emitted {
  def apply(batch: IndexedSeq[EdgeBatch]): Unit
}

/** Counts of the rows emitted so far, and their check. */
trait Emitted {
  def plus: Long
  def minus: Long
  def check: Long

  def stateRows: Long
  def stateBytes: Long

  /** Further figures for the report. */
  def figures: Seq[(String, Long)] = Nil
}
