package io.joinless.spark.writer

import io.joinless.spark.writer.Refusals.refusal
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.functions._
import org.apache.spark.sql.{Column, DataFrame}

/** The net changes of a batch: one row of [[Cells]] for all equal ones. */
private[writer] object NetChanges {

  /** The columns that hold the change of a row. */
  val ChangeType = "_change_type"
  val Weight = "_weight"

  private val Inserts = Seq("insert", "update_postimage", "update_after")
  private val Deletes = Seq("delete", "update_preimage", "update_before")

  /** The columns of a batch that are no mark of changes. */
  def columns(df: DataFrame): Seq[String] = df.columns.toSeq.filterNot(name => name == ChangeType || name == Weight)

  /** Cells, their `weight`, which is never 0, and whether it is a deletion, `deletes`. */
  def apply(df: DataFrame): DataFrame = {
    val values = columns(df).map(name => col(quoteIdentifier(name)))
    val cells = Cells.names(values.size)
    val weight = if (df.columns.contains(Weight)) ofWeight else ofType
    val signed = df.select(values.zip(cells).map { case (value, cell) => value.as(cell) } :+ weight.as("weight"): _*)
    grouped(signed, cells, sum("weight").as("weight")).where("weight <> 0")
      .withColumn("deletes", (col("weight") < 0).cast("int"))
  }

  private def ofWeight: Column = {
    val weight = col(Weight).cast("bigint")
    when(weight.isNull, refusal("UNKNOWN_CHANGE_TYPE", "found" -> lit("NULL weight"))).otherwise(weight)
  }

  private def ofType: Column = {
    val change = lower(col(ChangeType))
    when(change.isin(Inserts: _*), lit(1)).when(change.isin(Deletes: _*), lit(-1))
      .otherwise(refusal("UNKNOWN_CHANGE_TYPE", "found" -> coalesce(col(ChangeType), lit("NULL"))))
  }

  /** Aggregates of equal rows, after the columns by which they are equal. */
  def grouped(df: DataFrame, columns: Seq[String], aggregate: Column): DataFrame = {
    val zeros = columns.filter(name => Cells.hasZeros(df.schema(name).dataType))
    val texts = zeros.map(name => col(name).cast("string").as(s"text_$name"))
    val values = zeros.map(name => first(name).as(s"value_$name"))
    val summed = df.groupBy(columns.map(col) ++ texts: _*).agg(aggregate, values: _*)
    val kept = summed.columns(columns.size + texts.size)
    summed.select(columns.map(name => if (zeros.contains(name)) col(s"value_$name").as(name) else col(name)) :+
      col(kept): _*)
  }

  /** Per key the deleted row, `old`, and the inserted row, `new`, with the texts of the errors for
    * a target that holds another row, `twice` and `absent`.
    *
    * @param changes what `apply` returns
    * @param key positions of columns
    * @param names of the target
    */
  def byKey(changes: DataFrame, key: Seq[Int], names: Seq[String]): DataFrame = {
    val (whole, weight) = (struct(Cells.names(names.size).map(col): _*), col("weight"))
    val (inserted, deleted) = (weight > 0, weight < 0)
    val rows = changes.groupBy(key.map(i => col(s"c$i").as(s"key$i")): _*).agg(
      sum(when(inserted, weight).otherwise(0)).as("inserts"),
      sum(when(deleted, -weight).otherwise(0)).as("deletes"),
      first(when(inserted, whole), ignoreNulls = true).as("new"),
      first(when(deleted, whole), ignoreNulls = true).as("old")
    )
    val named = Refusals.json(struct(key.map(i => col(s"key$i").as(names(i))): _*))
    val counts = concat(col("deletes"), lit(" deletions and "), col("inserts"), lit(" insertions in one batch"))
    def twice(found: Column) = Seq("key" -> named, "found" -> found)
    val absent = Seq("row" -> Cells.row(names, "old."), "present" -> lit("0"), "change" -> lit("-1"))
    val columns = key.map(i => col(s"key$i")) ++ Seq(
      col("deletes"),
      col("new"),
      when(greatest("inserts", "deletes") > 1, refusal("KEY_NOT_UNIQUE", twice(counts): _*))
        .otherwise(col("old")).as("old"),
      Refusals.text("KEY_NOT_UNIQUE", twice(lit("a row of the target and an insertion")): _*).as("twice"),
      Refusals.text("ROW_NOT_IN_TARGET", absent: _*).as("absent")
    )
    rows.select(columns: _*)
  }
}
