package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.{CreateNamedStruct, Expression, UnsafeRow}
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
  override def sql(isDistinct: Boolean): String = {
    val values = row match {
      case struct: CreateNamedStruct => struct.valExprs.map(_.sql)
      case other => Seq(other.sql)
    }
    val by = if (order.keys.isEmpty) "" else s" ORDER BY ${order.texts(row).mkString(", ")}"
    val most = limit.fold("")(n => s" LIMIT $n")
    s"$prettyName(${values.mkString(", ")}$by$most)"
  }

  override def value(rows: Seq[UnsafeRow]): Any =
    new GenericArrayData(rows.iterator.map[Any](_.getStruct(0, order.fields)).toArray)

  override def withNewMutableAggBufferOffset(offset: Int): BestRows = copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): BestRows = copy(inputAggBufferOffset = offset)

  override protected def withNewChildInternal(newChild: Expression): BestRows = copy(row = newChild)
}
