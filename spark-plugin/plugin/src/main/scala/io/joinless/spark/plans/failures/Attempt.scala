package io.joinless.spark.plans.failures

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.types.{BooleanType, DataType}

/** The value of an expression that is evaluated on more rows than in Spark: NULL where it fails.
  * Unlike `TryEval` it is evaluated by itself: subexpressions that it shares with other expressions
  * are not computed before it, where nothing would catch their failure.
  */
final case class Attempt(child: Expression) extends UnaryExpression with CodegenFallback {

  override def nullable: Boolean = true

  override def dataType: DataType = child.dataType

  override def eval(row: InternalRow): Any =
    try child.eval(row)
    catch { case NonFatal(_) => null }

  override def prettyName: String = "attempt"

  override protected def withNewChildInternal(newChild: Expression): Attempt = copy(child = newChild)
}

/** True where an expression fails, else NULL. */
final case class Failure(child: Expression) extends UnaryExpression with CodegenFallback {

  override def nullable: Boolean = true

  override def dataType: DataType = BooleanType

  override def eval(row: InternalRow): Any =
    try {
      val _ = child.eval(row)
      null
    } catch { case NonFatal(_) => true }

  override def prettyName: String = "failure"

  override protected def withNewChildInternal(newChild: Expression): Failure = copy(child = newChild)
}
