package io.joinless.spark.plans

import org.apache.spark.sql.types.{DataType, LongType, StringType}

/** How changes of a result are told, in one column behind the result's own.
  *
  * @param name what users call it
  * @param column the column's name
  */
sealed abstract class DeltaForm(val name: String, val column: String, val dataType: DataType)

object DeltaForm {

  /** `insert` or `delete`, a row per copy. */
  case object ChangeType extends DeltaForm("change_type", "_change_type", StringType)

  /** The signed number of copies, one row for all copies of a row. */
  case object Weight extends DeltaForm("weight", "_weight", LongType)

  /** Each row once, when it is final: a row per copy. The column is `insert` in each of them, and is not shown. */
  case object OnClose extends DeltaForm("on_close", "_change_type", StringType)

  val all: Seq[DeltaForm] = Seq(ChangeType, Weight, OnClose)

  def of(name: String): Option[DeltaForm] = all.find(_.name.equalsIgnoreCase(name))
}
