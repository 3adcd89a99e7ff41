package io.joinless.spark.plans.failures

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}

/** Whether an expression can be evaluated on a row: true where it has a value, NULL included, false
  * where it fails.
  *
  * The failures of a task are counted ([[KeyErrors]]); the first one is logged.
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
