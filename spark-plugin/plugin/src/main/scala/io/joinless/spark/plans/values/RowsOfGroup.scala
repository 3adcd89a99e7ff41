package io.joinless.spark.plans.values

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate
import org.apache.spark.sql.catalyst.expressions.{CreateNamedStruct, Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.trees.UnaryLike

/** An aggregate function of the rows of a group in an order.
  *
  * Our operators store the rows and maintain them under changes
  * ([[io.joinless.spark.state.groups.BestOf]]); for a complete result Spark runs the function as it
  * is defined here.
  */
trait RowsOfGroup extends TypedImperativeAggregate[ArrayBuffer[UnsafeRow]] with UnaryLike[Expression] {

  /** A struct; where it is NULL, the row does not count. */
  def row: Expression

  /** The order in which rows are first. */
  def order: RowOrder

  /** How many of the first rows are needed; None for all. */
  def limit: Option[Int]

  /** The columns of a row, and the order, by which the function is recorded. */
  final protected def text: String = {
    val columns = row match {
      case struct: CreateNamedStruct => struct.valExprs.map(_.sql)
      case other => Seq(other.sql)
    }
    columns.mkString(", ") + (if (order.keys.isEmpty) "" else s" ORDER BY ${order.texts(row).mkString(", ")}")
  }

  /** The value for these rows, each of one column, the struct; they are sorted. */
  def value(rows: Seq[UnsafeRow]): Any

  final override def child: Expression = row

  @transient private lazy val ordering = order.ordering
  @transient private lazy val projection = UnsafeProjection.create(Array(row.dataType))

  override def createAggregationBuffer(): ArrayBuffer[UnsafeRow] = ArrayBuffer.empty

  override def update(buffer: ArrayBuffer[UnsafeRow], input: InternalRow): ArrayBuffer[UnsafeRow] = {
    val struct = row.eval(input)
    if (struct == null) buffer else bounded(buffer += projection(InternalRow(struct)).copy())
  }

  override def merge(buffer: ArrayBuffer[UnsafeRow], other: ArrayBuffer[UnsafeRow]): ArrayBuffer[UnsafeRow] =
    bounded(buffer ++= other)

  /** The buffer without most of the rows that are not needed. */
  private def bounded(buffer: ArrayBuffer[UnsafeRow]): ArrayBuffer[UnsafeRow] =
    if (limit.exists(buffer.size > 2L * _ + 1000)) first(buffer) else buffer

  /** The needed rows of the buffer, in order. */
  private def first(buffer: ArrayBuffer[UnsafeRow]): ArrayBuffer[UnsafeRow] = {
    val sorted = buffer.sorted(ordering)
    limit.fold(sorted)(sorted.take)
  }

  override def eval(buffer: ArrayBuffer[UnsafeRow]): Any = value(first(buffer).toSeq)

  /** Each row as the size of its bytes and the bytes. */
  override def serialize(buffer: ArrayBuffer[UnsafeRow]): Array[Byte] = {
    val bytes = ByteBuffer.allocate(buffer.map(4 + _.getSizeInBytes).sum)
    buffer.foreach(row => bytes.putInt(row.getSizeInBytes).put(row.getBytes))
    bytes.array
  }

  /** The buffer that `serialize` has written. */
  override def deserialize(bytes: Array[Byte]): ArrayBuffer[UnsafeRow] = {
    val in = ByteBuffer.wrap(bytes)
    val rows = ArrayBuffer.empty[UnsafeRow]
    while (in.hasRemaining) {
      val own = new Array[Byte](in.getInt())
      in.get(own)
      val row = new UnsafeRow(1)
      row.pointTo(own, own.length)
      rows += row
    }
    rows
  }
}
