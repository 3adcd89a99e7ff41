package io.joinless.spark.changes

import java.util.Locale

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.types.{DataType, LongType}
import org.apache.spark.unsafe.types.UTF8String

/** The change types that tables write: Spark 4.2's CHANGES and Delta's change feed (the first
  * four), Iceberg's changelog views (the last two). Any case.
  */
object ChangeTypes {
  private val insertions = Set("insert", "update_postimage", "update_after")
  private val deletions = Set("delete", "update_preimage", "update_before")

  val Insert: UTF8String = UTF8String.fromString("insert")
  val Delete: UTF8String = UTF8String.fromString("delete")

  /** 1 for an insert, −1 for a delete, 0 for a text that is no change type. */
  def weight(changeType: String): Long = {
    val name = changeType.toLowerCase(Locale.ROOT)
    if (insertions(name)) 1L else if (deletions(name)) -1L else 0L
  }

  /** Further columns of table changes apart from the change type: when they happened, and in which
    * order.
    */
  val metadata: Set[String] = Set("_commit_version", "_commit_timestamp", "_change_ordinal", "_commit_snapshot_id")
}

/** The weight of a row by its change type; NULL or an unknown type is the error
  * `JOINLESS_UNKNOWN_CHANGE_TYPE`.
  *
  * @param source the source of the row, for the error
  */
final case class ChangeTypeWeight(child: Expression, source: String) extends UnaryExpression with CodegenFallback {

  override def dataType: DataType = LongType

  override def nullable: Boolean = false

  override def eval(row: InternalRow): Long = {
    val value = child.eval(row)
    val weight = if (value == null) 0L else ChangeTypes.weight(value.toString)
    if (weight == 0L) throw JoinlessErrors.unknownChangeType(Option(value).map(_.toString), source)
    weight
  }

  override def prettyName: String = "change_type_weight"

  override protected def withNewChildInternal(newChild: Expression): ChangeTypeWeight = copy(child = newChild)
}

/** A given weight (BIGINT), which must not be NULL. */
final case class GivenWeight(child: Expression, source: String) extends UnaryExpression with CodegenFallback {

  override def dataType: DataType = LongType

  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    if (value == null) throw JoinlessErrors.unknownWeight(source)
    value
  }

  override def prettyName: String = "given_weight"

  override protected def withNewChildInternal(newChild: Expression): GivenWeight = copy(child = newChild)
}
