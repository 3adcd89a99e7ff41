package io.joinless.spark.plans.values

import org.apache.spark.sql.types.{DataType, LongType, StringType}

/** The form in which changes of a result are emitted, in one column after the result's own.
  *
  * @param name what users call it
  * @param column the column's name
  */
sealed abstract class DeltaForm(val name: String, val column: String, val dataType: DataType)

object DeltaForm {

  /** `insert` or `delete`, one row per copy. */
  case object ChangeType extends DeltaForm("change_type", "_change_type", StringType)

  /** The signed number of copies, one row for all copies of a row. */
  case object Weight extends DeltaForm("weight", "_weight", LongType)

  /** Each row is emitted once, when it is final: one row per copy. The column is `insert` in each
    * of them, and is not projected.
    */
  case object OnClose extends DeltaForm("on_close", "_change_type", StringType)

  val all: Seq[DeltaForm] = Seq(ChangeType, Weight, OnClose)

  /** The form that users call so, in any case. */
  def of(name: String): Option[DeltaForm] = all.find(_.name.equalsIgnoreCase(name))
}
