package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.catalyst.expressions.{
  Add,
  Alias,
  AttributeReference,
  Expression,
  GreaterThan,
  If,
  IsNull,
  Literal
}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.{BooleanType, DataType, LongType}

/** Whether some row of a group has a value: a count of which only "zero or not" is emitted, so that
  * a group changes with its first row and its last row only.
  */
final case class AnyOf(child: Expression) extends DeclarativeAggregate with UnaryLike[Expression] {

  override def dataType: DataType = BooleanType

  override def nullable: Boolean = false

  private lazy val count = AttributeReference("count", LongType, nullable = false)()

  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(count)

  override lazy val initialValues: Seq[Expression] = Seq(Literal(0L))

  override lazy val updateExpressions: Seq[Expression] = Seq(If(IsNull(child), count, Add(count, Literal(1L))))

  override lazy val mergeExpressions: Seq[Expression] = Seq(Add(count.left, count.right))

  override lazy val evaluateExpression: Expression = GreaterThan(count, Literal(0L))

  override def prettyName: String = "any"

  override protected def withNewChildInternal(newChild: Expression): AnyOf = copy(child = newChild)
}

object AnyOf {

  /** A column that says whether a group has rows. */
  def row: Alias = Alias(AnyOf(Literal.TrueLiteral).toAggregateExpression(), "any")()
}
