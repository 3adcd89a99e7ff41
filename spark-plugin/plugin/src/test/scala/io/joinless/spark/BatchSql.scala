package io.joinless.spark

import org.apache.spark.sql.{DataFrame, Dataset, Row}

/** Spark's batch SQL as an oracle, over few rows: a query is one task. Its plan is Spark's own, only without exchanges. */
object BatchSql {
  private val cheap = Seq("spark.sql.adaptive.enabled" -> "false", "spark.sql.autoBroadcastJoinThreshold" -> "-1")

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
