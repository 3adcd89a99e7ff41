package io.joinless.engine.mutants

import io.joinless.engine.oracle._
import java.util.concurrent.atomic.AtomicReference

/** The property tests as one call, for engines that may not even come to an end. */
object Probe {
  private val Patience = 60000L

  /** The first failure among the cases of seeds 0 until `cases`, null where there is none. */
  def run(cases: Long): String = {
    val failure = new AtomicReference[String]
    val thread = new Thread(() => failure.set(firstFailure(cases)))
    thread.setDaemon(true)
    thread.start()
    thread.join(Patience)
    if (thread.isAlive) "does not come to an end" else failure.get
  }

  private def firstFailure(cases: Long): String =
    try {
      Iterator.iterate(0L)(_ + 1).takeWhile(_ < cases)
        .flatMap(seed => Shrinking.failure(Generators.draw(seed)).map(e => s"seed $seed, ${e.getMessage}"))
        .nextOption().orNull
    } catch { case e: Throwable => e.toString }
}
