package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateFunction,
  DeclarativeAggregate,
  ImperativeAggregate
}
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Expression,
  GenericInternalRow,
  JoinedRow,
  SpecificInternalRow,
  UnsafeRow
}
import org.apache.spark.sql.types.{DataType, StructType}

/** An aggregate function of Spark's, computed over all rows of a group in the order of their
  * values. So its value does not depend on the order in which rows are inserted, nor on rows that
  * were deleted.
  *
  * @param row the function's arguments
  * @param function over a row of one column, the struct
  * @param distinct equal rows count once
  */
final case class FunctionOfRows(
    row: Expression,
    function: AggregateFunction,
    distinct: Boolean,
    override val mutableAggBufferOffset: Int = 0,
    override val inputAggBufferOffset: Int = 0
) extends RowsOfGroup {

  override lazy val order: RowOrder = RowOrder.ofAll(row.dataType.asInstanceOf[StructType])

  override def limit: Option[Int] = None

  override def dataType: DataType = function.dataType

  override def nullable: Boolean = function.nullable

  override def prettyName: String = function.prettyName

  @transient private lazy val computed: Iterator[UnsafeRow] => Any = function match {
    case declared: DeclarativeAggregate => FunctionOfRows.declared(declared)
    case imperative: ImperativeAggregate => FunctionOfRows.imperative(imperative)
    case other => throw new IllegalStateException(s"${other.prettyName} cannot be computed")
  }

  override def value(rows: Seq[UnsafeRow]): Any =
    computed(if (distinct) rows.iterator.distinct else rows.iterator)

  override def withNewMutableAggBufferOffset(offset: Int): FunctionOfRows = copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): FunctionOfRows = copy(inputAggBufferOffset = offset)

  override protected def withNewChildInternal(newChild: Expression): FunctionOfRows = copy(row = newChild)
}

object FunctionOfRows {

  /** From rows of one column, the arguments as a struct, to the value of a function that Spark
    * defines by expressions: each row updates a buffer, of which the value is an expression.
    */
  private def declared(f: DeclarativeAggregate): Iterator[UnsafeRow] => Any = {
    // a row as the function is evaluated on it: the struct, then the buffer
    val buffered = f.aggBufferAttributes
    def bound(e: Expression) = e.transform {
      case a if buffered.exists(_.semanticEquals(a)) =>
        val at = buffered.indexWhere(_.semanticEquals(a))
        BoundReference(at + 1, a.dataType, a.nullable)
    }
    val updates = f.updateExpressions.map(bound).toArray
    val result = bound(f.evaluateExpression)
    rows => {
      val buffer = new GenericInternalRow(f.initialValues.map(_.eval()).toArray)
      val joined = new JoinedRow
      rows.foreach { row =>
        val values = updates.map(_.eval(joined(row, buffer)))
        values.indices.foreach(i => buffer.update(i, values(i)))
      }
      result.eval(joined(InternalRow(null), buffer))
    }
  }

  /** As `declared`, of a function that Spark defines by methods on a buffer. */
  private def imperative(f: ImperativeAggregate): Iterator[UnsafeRow] => Any = {
    val own = f.withNewMutableAggBufferOffset(0).withNewInputAggBufferOffset(0)
    rows => {
      val buffer = new SpecificInternalRow(own.aggBufferAttributes.map(_.dataType))
      own.initialize(buffer)
      rows.foreach(own.update(buffer, _))
      own.eval(buffer)
    }
  }
}
