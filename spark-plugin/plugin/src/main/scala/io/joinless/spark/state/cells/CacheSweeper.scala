package io.joinless.spark.state.cells

import java.util.concurrent.{Executors, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.joinless.CellStore

/** Drops the view trees of queries that ended and of cells that moved to other executors, within a
  * minute or two.
  *
  * A tree is of use as long as this executor has the state store of its cell open. Spark's own
  * maintenance closes a store once its query has ended or another executor has opened it.
  */
object CacheSweeper extends Logging {
  private val SecondsBetween = 30L

  private lazy val daemon = {
    val executor = Executors.newSingleThreadScheduledExecutor { task =>
      val thread = new Thread(task, "joinless-cache-sweeper")
      thread.setDaemon(true)
      thread
    }
    executor.scheduleWithFixedDelay(() => sweepOrLog(), SecondsBetween, SecondsBetween, TimeUnit.SECONDS)
  }

  /** Sweeps from now on, every half minute. */
  def start(): Unit = { val _ = daemon }

  /** Sweeps once. */
  def sweep(): Unit = ViewTreeCache.executor.retain { (cell, at) =>
    CellStore.isOpen(cell.checkpoint, cell.operator, cell.cell, at.run)
  }

  // an exception would end the schedule
  private def sweepOrLog(): Unit =
    try sweep()
    catch { case NonFatal(e) => logWarning("View trees that are not in use were not looked for", e) }
}
