package io.joinless.engine.mutants

import io.joinless.engine.oracle._
import io.joinless.engine.reduce.{ReducedCase, ReducedRun}
import java.util.concurrent.atomic.AtomicReference

/** The property tests as one call, for engines that may not even come to an end. */
object Probe {
  private val Patience = 60000L

  /** The first failure among the cases of seeds 0 until `cases`, null where there is none. */
  def run(cases: Long): String = first(cases)(seed => Shrinking.failure(Generators.draw(seed)).map(_.getMessage))

  /** The same of sums over joins. */
  def runSums(cases: Long): String = first(cases)(seed => new ReducedRun(ReducedCase.draw(seed)).run())

  private def first(cases: Long)(failureOf: Long => Option[String]): String = {
    val failure = new AtomicReference[String]
    val thread = new Thread(() => failure.set(firstFailure(cases, failureOf)))
    thread.setDaemon(true)
    thread.start()
    thread.join(Patience)
    if (thread.isAlive) "does not come to an end" else failure.get
  }

  private def firstFailure(cases: Long, failureOf: Long => Option[String]): String =
    try {
      Iterator.iterate(0L)(_ + 1).takeWhile(_ < cases)
        .flatMap(seed => failureOf(seed).map(what => s"seed $seed, $what"))
        .nextOption().orNull
    } catch { case e: Throwable => e.toString }
}
