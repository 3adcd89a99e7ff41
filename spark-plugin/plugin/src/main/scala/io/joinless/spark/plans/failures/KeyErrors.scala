package io.joinless.spark.plans.failures

import java.util.WeakHashMap
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging

/** Counts, per task, how often a key could not be computed. */
object KeyErrors extends Logging {
  private val ofTasks = new WeakHashMap[TaskContext, AtomicLong]

  /** Counts an error of the current task; its first one is logged. */
  private[plans] def count(key: String, error: Throwable): Unit = {
    val context = TaskContext.get()
    val before = if (context == null) 0L else counter(context).getAndIncrement()
    if (before == 0L)
      logWarning(s"A row is left out because its join key $key cannot be computed: ${error.getMessage}")
  }

  /** Returns the count of a task so far, and resets it. */
  def take(context: TaskContext): Long = counter(context).getAndSet(0L)

  /** The count of a task, which is dropped with its context. */
  private def counter(context: TaskContext): AtomicLong =
    ofTasks.synchronized(ofTasks.computeIfAbsent(context, _ => new AtomicLong))
}
