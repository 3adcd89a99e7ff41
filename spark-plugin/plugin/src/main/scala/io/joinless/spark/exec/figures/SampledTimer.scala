package io.joinless.spark.exec.figures

/** Estimates the time spent in short, frequent calls: every `period`-th call is timed, less the
  * cost of the clock itself, and counts `period` times.
  */
final private[exec] class SampledTimer(period: Int) {
  private[this] var wait = 1
  private[this] var started = 0L
  private[this] var sampled = 0L
  private[this] var exact = 0L

  /** A call begins; `end` or `endLast` must follow. */
  def begin(): Unit = {
    wait -= 1
    if (wait == 0) started = System.nanoTime()
  }

  /** The call has ended. */
  def end(): Unit = if (wait == 0) {
    sampled += math.max(0L, System.nanoTime() - started - SampledTimer.clockNanos)
    wait = period
  }

  /** As `end`, of a call that is not like the others: it counts for itself only. */
  def endLast(): Unit = if (wait == 0) {
    exact += math.max(0L, System.nanoTime() - started - SampledTimer.clockNanos)
    wait = 1
  }

  /** Times a single call. */
  def once(body: => Unit): Unit = {
    val start = System.nanoTime()
    body
    exact += System.nanoTime() - start
  }

  /** The estimated time of all calls, in nanoseconds. */
  def nanos: Long = sampled * period + exact
}

private object SampledTimer {

  /** The time between two consecutive readings of the clock. */
  lazy val clockNanos: Long = Iterator.fill(1000) { val t = System.nanoTime(); System.nanoTime() - t }.min
}
