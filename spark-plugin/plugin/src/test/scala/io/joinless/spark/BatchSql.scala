package io.joinless.spark

import org.apache.spark.sql.{DataFrame, Dataset, Row}

/** Spark's batch SQL as an oracle, over few rows: most queries are one task, as one partition needs
  * no exchange.
  *
  * Joins stay broadcast ones: Spark 4.2.0 moves LIMIT above the join of `x IN (subquery)` as a
  * value, so that a sort-merge join loses the order that the LIMIT requires.
  */
object BatchSql {
  private val cheap = Seq("spark.sql.adaptive.enabled" -> "false")

  /** A table of one partition, which needs no exchange. */
  def table(name: String, rows: Dataset[_], columns: String*): Unit =
    (if (columns.isEmpty) rows.toDF() else rows.toDF(columns: _*)).coalesce(1).createOrReplaceTempView(name)

  /** The rows of a query over such tables. */
  def rows(query: DataFrame): Seq[Row] = {
    val confs = query.sparkSession.conf
    val before = cheap.map { case (key, _) => key -> confs.getOption(key) }
    cheap.foreach { case (key, value) => confs.set(key, value) }
    try query.collect().toSeq
    finally before.foreach { case (key, value) => value.fold(confs.unset(key))(confs.set(key, _)) }
  }
}
