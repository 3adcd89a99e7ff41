package io.joinless.spark.plans

import java.util.WeakHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}

/** Whether an expression can be evaluated on a row: true where it has a value, NULL included, false where it fails.
  *
  * The failures of a task are counted ([[KeyErrors]]), the first one is logged.
  */
final case class IsComputable(child: Expression) extends UnaryExpression with Predicate with CodegenFallback {

  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any =
    try {
      val _ = child.eval(row)
      true
    } catch {
      case NonFatal(e) =>
        KeyErrors.count(child.sql, e)
        false
    }

  override def prettyName: String = "is_computable"

  override protected def withNewChildInternal(newChild: Expression): IsComputable = copy(child = newChild)
}

/** How often a key could not be computed, by task. */
object KeyErrors extends Logging {
  private val ofTasks = new WeakHashMap[TaskContext, AtomicLong]

  private[plans] def count(key: String, error: Throwable): Unit = {
    val context = TaskContext.get()
    val before = if (context == null) 0L else counter(context).getAndIncrement()
    if (before == 0L)
      logWarning(s"A row is left out because its join key $key cannot be computed: ${error.getMessage}")
  }

  /** The count of a task so far, which begins again. */
  def take(context: TaskContext): Long = counter(context).getAndSet(0L)

  private def counter(context: TaskContext): AtomicLong =
    ofTasks.synchronized(ofTasks.computeIfAbsent(context, _ => new AtomicLong))
}
