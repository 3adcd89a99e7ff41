package org.apache.spark.sql.joinless

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.internal.config
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.Utils

/** The number of tasks that the executors of a session run at the same time: their cores, in units
  * of `spark.task.cpus`.
  *
  * It counts registered executors, and at least those that were requested by number, which may not
  * have registered yet: under dynamic allocation the initial ones, since the number of later ones
  * depends on the load. Never less than 1.
  *
  * Private to Spark: `SparkContext.maxNumConcurrentTasks` and the configs of executors.
  */
object ExecutorCores {

  /** The number as far as it is known now. */
  def known(session: SparkSession): Int = known(session.sparkContext)

  /** The number for a lasting choice: waits, at most 30 s, until the expected executors have
    * registered and no more do; requests none itself.
    */
  def settled(session: SparkSession): Int = {
    val context = session.sparkContext
    val end = System.nanoTime() + WaitNanos
    var (before, now) = (0, tasks(context))
    while (!context.isLocal && (now < expected(context.getConf) || now > before) && System.nanoTime() < end) {
      before = now
      Thread.sleep(PauseMillis)
      now = tasks(context)
    }
    known(context)
  }

  /** The number of tasks of registered executors, or of requested ones if these are more. */
  private def known(context: SparkContext): Int = tasks(context).max(requested(context.getConf)).max(1)

  /** The number of tasks of the executors that have registered. */
  private def tasks(context: SparkContext): Int =
    context.maxNumConcurrentTasks(context.resourceProfileManager.defaultResourceProfile)

  /** Tasks on the executors that register without being requested by a job: some, unless all are
    * allocated by the load.
    */
  private[joinless] def expected(conf: SparkConf): Int =
    requested(conf).max(if (Utils.isDynamicAllocationEnabled(conf)) 0 else 1)

  /** Tasks on the executors that the conf requests; 0 if it has no number of executors or of cores.
    */
  private[joinless] def requested(conf: SparkConf): Int = {
    val executors =
      if (Utils.isDynamicAllocationEnabled(conf)) Utils.getDynamicAllocationInitialExecutors(conf)
      else conf.get(config.EXECUTOR_INSTANCES).getOrElse(0)
    val cores = if (conf.contains(config.EXECUTOR_CORES)) conf.get(config.EXECUTOR_CORES) else 1
    // a text: some versions take parts of a core
    val cpus = BigDecimal(conf.get(config.CPUS_PER_TASK.key, "1"))
    val all = executors * (if (cpus > 0) (BigDecimal(cores) / cpus).toBigInt else BigInt(cores))
    all.min(BigInt(Int.MaxValue)).toInt
  }

  final private val WaitNanos = 30L * 1000 * 1000 * 1000
  final private val PauseMillis = 500L
}
