package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.types.DataType

/** The only row of a group, whose grouping columns are a declared key.
  * {{{
  * key (id)    rows of id 7            value
  *             (7, Ann)                (Ann)
  *             (7, Ann), (7, Bob)      none: the batch fails
  *             (7, Ann), (7, Ann)      none: the batch fails
  * }}}
  * Operators check the number of rows before they read the value
  * ([[io.joinless.spark.state.groups.RowsOfKey]]).
  *
  * @param row the columns of a row, as a struct that is never NULL
  * @param key the names of the columns of the key, and `source` that of the relation, for errors
  */
final case class OnlyRow(
    row: Expression,
    order: RowOrder,
    key: Seq[String],
    source: String,
    override val mutableAggBufferOffset: Int = 0,
    override val inputAggBufferOffset: Int = 0
) extends RowsOfGroup {

  override def limit: Option[Int] = None

  override def dataType: DataType = row.dataType

  override def nullable: Boolean = false

  override def prettyName: String = "only_row"

  /** The text by which the function is recorded: its columns, which are those of the query. */
  override def sql(isDistinct: Boolean): String = s"$prettyName($text)"

  override def value(rows: Seq[UnsafeRow]): Any = rows.head.getStruct(0, order.fields)

  override def withNewMutableAggBufferOffset(offset: Int): OnlyRow = copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): OnlyRow = copy(inputAggBufferOffset = offset)

  override protected def withNewChildInternal(newChild: Expression): OnlyRow = copy(row = newChild)
}
