package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types.{ArrayType, DataType}

/** The first rows of a group in an order, as an array: for ORDER BY and LIMIT per group; or all of
  * its rows, for window functions.
  */
final case class BestRows(
    row: Expression,
    order: RowOrder,
    limit: Option[Int],
    override val mutableAggBufferOffset: Int = 0,
    override val inputAggBufferOffset: Int = 0
) extends RowsOfGroup {

  override def dataType: DataType = ArrayType(row.dataType, containsNull = false)

  override def nullable: Boolean = false

  override def prettyName: String = "best_rows"

  /** The text by which the function is recorded: columns, order and limit, which are those of the
    * query.
    */
  override def sql(isDistinct: Boolean): String = s"$prettyName($text${limit.fold("")(n => s" LIMIT $n")})"

  override def value(rows: Seq[UnsafeRow]): Any =
    new GenericArrayData(rows.iterator.map[Any](_.getStruct(0, order.fields)).toArray)

  override def withNewMutableAggBufferOffset(offset: Int): BestRows = copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): BestRows = copy(inputAggBufferOffset = offset)

  override protected def withNewChildInternal(newChild: Expression): BestRows = copy(row = newChild)
}
