package io.joinless.engine.mutants

import io.joinless.engine.oracle._
import io.joinless.engine.orders.{OrdersCheck, ReportsCheck}
import io.joinless.engine.reduce.{HubTriangles, ReducedCase, ReducedRun}
import io.joinless.engine.sample.{CellsLaw, PositionsLaw, SampleLaw, SampleRun}
import java.lang.management.ManagementFactory
import scala.annotation.nowarn
import scala.util.Try

/** The property tests as one call, for engines that may not terminate. */
object Probe {

  /** The processor time in ns after which a case counts as not terminating; others take
    * milliseconds.
    */
  private val Patience = 5000000000L

  /** The same where a case is repeated hundreds of times. */
  private val PatienceWithLaws = 6 * Patience

  /** The first failure among the cases of seeds `from` until `until`, null if there is none. */
  def run(from: Long, until: Long): String =
    first(from, until)(seed => Shrinking.failure(Generators.draw(seed)).map(_.getMessage))

  /** The same for joins by intersection. */
  def runBags(from: Long, until: Long): String =
    first(from, until)(seed => Shrinking.failure(Generators.drawBag(seed)).map(_.getMessage))

  /** The same for sums over joins. */
  def runSums(from: Long, until: Long): String =
    first(from, until)(seed => new ReducedRun(ReducedCase.draw(seed)).run())

  /** The same for totals over cycles. */
  def runTotals(from: Long, until: Long): String = first(from, until) { seed =>
    HubTriangles.failure(seed).orElse(new ReducedRun(ReducedCase.drawTotal(seed)).run())
  }

  /** The same for orders that adapt: their costs, and what walks report. */
  def runOrders(from: Long, until: Long): String =
    first(from, until)(seed => OrdersCheck.failure(seed).orElse(ReportsCheck.failure(seed)))

  /** The same for kept samples: what is true of each, and their law. */
  def runSamples(from: Long, until: Long): String =
    first(from, until, PatienceWithLaws)(seed =>
      SampleRun.draw(seed).run().orElse(SampleLaw.draw(seed, 1000, VeryUnlikely).run())
    )

  /** The same for samples per group. */
  def runGroups(from: Long, until: Long): String = first(from, until, PatienceWithLaws)(seed =>
    SampleRun.drawGrouped(seed).run().orElse(SampleLaw.drawGrouped(seed, 1000, VeryUnlikely).run())
  )

  /** The same for samples over cells, windows and restarts. */
  def runCells(from: Long, until: Long): String = first(from, until, PatienceWithLaws) { seed =>
    val drawn = CellsLaw.draw(seed)
    CellsLaw.sameSeeds.orElse(drawn.run(seed)).orElse(drawn.law(250, VeryUnlikely).run())
  }

  /** The same for positions that are drawn on demand. */
  def runPositions(from: Long, until: Long): String =
    first(from, until, PatienceWithLaws)(seed => new PositionsLaw(seed, VeryUnlikely).failure)

  /** Below this chance a sample has another law; so many cases are looked at that less unlikely
    * ones are seen.
    */
  private val VeryUnlikely = 1e-9

  private def first(from: Long, until: Long, patience: Long = Patience)(failureOf: Long => Option[String]): String = {
    val search = new Search(from, until, patience, failureOf)
    search.start()
    if (search.ends()) search.failure else s"seed ${search.seed} does not end"
  }

  final private class Search(from: Long, until: Long, patience: Long, failureOf: Long => Option[String])
      extends Thread {
    setDaemon(true)
    @volatile var seed: Long = from
    @volatile var failure: String = null

    override def run(): Unit =
      try
        while (failure == null && seed < until) {
          failure = failureOf(seed).map(what => s"seed $seed, $what").orNull
          seed += 1
        }
      catch { case e: Throwable => failure = s"seed $seed, $e" }

    /** Waits for the thread, and stops it if one case takes too long. */
    def ends(): Boolean = {
      val threads = ManagementFactory.getThreadMXBean
      var (at, since, patient) = (seed, 0L, true)
      while (isAlive && patient) {
        join(20)
        val used = threads.getThreadCpuTime(getId)
        if (seed != at) { at = seed; since = used }
        else patient = used - since < patience
      }
      if (!patient) end()
      patient
    }

    /** Stops the thread, which would otherwise use a processor while other tests run. If Java
      * refuses to stop it, it keeps running.
      */
    @nowarn("cat=deprecation")
    private def end(): Unit = Try(stop()).getOrElse(())
  }
}
