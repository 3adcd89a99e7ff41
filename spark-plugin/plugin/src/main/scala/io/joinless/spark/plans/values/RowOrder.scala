package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  Attribute,
  BindReferences,
  BoundReference,
  CreateNamedStruct,
  Expression,
  GetStructField,
  Literal,
  RowOrdering,
  SortOrder,
  UnsafeRow
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.ByteArray

/** An order of rows of one column, a struct. It is total: where the keys are equal, the bytes of
  * the rows decide.
  *
  * @param keys over such a row
  * @param fields how many fields the struct has
  */
final case class RowOrder(keys: Seq[SortOrder], fields: Int) {

  /** The order of rows: by the keys, then by the bytes. */
  def ordering: Ordering[UnsafeRow] = {
    val byKeys = RowOrdering.create(keys, Nil)
    (a, b) => {
      val order = byKeys.compare(a, b)
      if (order != 0) order else ByteArray.compareBinary(a.getBytes, b.getBytes)
    }
  }

  /** The keys as they are where the struct is `row`. */
  private[plans] def texts(row: Expression): Seq[String] = keys.map(_.transform {
    case GetStructField(_: BoundReference, i, _) =>
      row match {
        case struct: CreateNamedStruct => struct.valExprs(i)
        case other => GetStructField(other, i)
      }
  }.sql)
}

object RowOrder {

  /** An order by the fields of a struct.
    *
    * @param keys over references to the fields of a struct
    * @param struct its type
    */
  def apply(keys: Seq[SortOrder], struct: StructType): RowOrder = RowOrder(
    keys.map(_.transformUp { case BoundReference(i, _, _) =>
      GetStructField(BoundReference(0, struct, nullable = false), i)
    }.asInstanceOf[SortOrder]),
    struct.size
  )

  /** Columns as a struct, and an order over the columns as one of such structs. */
  def struct(columns: Seq[Attribute], order: Seq[SortOrder]): (CreateNamedStruct, RowOrder) = {
    val struct = CreateNamedStruct(columns.zipWithIndex.flatMap { case (a, i) => Seq(Literal(s"c$i"), a) })
    (struct, RowOrder(BindReferences.bindReferences(order, columns), struct.dataType))
  }

  /** The order by all fields that can be compared, ascending. */
  def ofAll(struct: StructType): RowOrder = RowOrder(
    struct.fields.toSeq.zipWithIndex.filter { case (field, _) => RowOrdering.isOrderable(field.dataType) }.map {
      case (field, i) => SortOrder(BoundReference(i, field.dataType, nullable = true), Ascending)
    },
    struct
  )
}
