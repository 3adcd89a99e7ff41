package io.joinless.spark

import io.joinless.spark.changes.Changes
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.source.{FullResult, Lookups, ResultsOnDemand}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.expressions.Window
import org.apache.spark.sql.functions.{col, lit, row_number}

/** The members that Scala users import: `import io.joinless.spark.api._`. */
package object api {

  /** A column that numbers the rows of a key. */
  final private val Latest = "_joinless_row_number"

  /** Methods for changelogs as input and for changes as output. */
  implicit final class DataFrameSyntax(private val df: DataFrame) extends AnyVal {

    /** The relation of which `df` is a changelog, with a column of change types (STRING: `insert`,
      * `delete`, …). The relation has the other columns; in SQL it is used like a table.
      */
    def changelog(changeType: String = DeltaForm.ChangeType.column): DataFrame =
      Changes.changelog(df, Some(changeType), None)

    /** The relation of which `df` is a changelog, with a column of signed counts (whole numbers).
      */
    def weightedChangelog(weight: String = DeltaForm.Weight.column): DataFrame =
      Changes.changelog(df, None, Some(weight))

    /** The stream as plain rows, even if it is a change feed: deletions count as rows, and so do
      * old values.
      */
    def takenAsRows: DataFrame = Changes.rows(df)

    /** The rows that are not older than `after`, such as `"1 hour"`: a row is deleted when the
      * watermark reaches its time in `column`, a TIMESTAMP with a watermark, plus `after`. A query
      * over these rows emits their inserts and deletes.
      */
    def expire(column: String, after: String): DataFrame = Changes.expire(df, column, after)

    /** The newest row of each key: that with the greatest `order`. Of rows that are equal in
      * `order` it is one, always the same.
      */
    def latest(key: Seq[String], order: Seq[String]): DataFrame = {
      val newest = order.map(col(_).desc_nulls_last)
      df.withColumn(Latest, row_number().over(Window.partitionBy(key.map(col): _*).orderBy(newest: _*)))
        .where(col(Latest) === 1).drop(Latest)
    }

    /** The net changes of the result, batch by batch: with a column `_change_type` (`insert` or
      * `delete`, a row per copy), or for `output = "weight"` with `_weight` (one row with the
      * signed count). For `output = "on_close"` each row of the result once, when it is final, with
      * no other columns: Spark's append mode, for every query.
      */
    def incrementalEnumerate(output: String = DeltaForm.ChangeType.name): DataFrame =
      Changes.deltas(df, DeltaForm.of(output).getOrElse(throw JoinlessErrors.deltaForm(output)))

    /** The complete result of the streaming query as of the last committed batch of a checkpoint,
      * or of an older batch that the checkpoint still keeps. It is a batch DataFrame, enumerated
      * from the state while it is read. The query may be running or stopped. If it fits several
      * joins of the checkpoint, `operator` is the number of the intended one.
      */
    def enumerateFull(checkpoint: String, batchId: Option[Long] = None, operator: Option[Long] = None): DataFrame =
      FullResult(df, checkpoint, batchId, operator)

    /** How many rows there are: of a complete result one number per cell, exact up to 2^127^. */
    def exactCount: BigInt = ResultsOnDemand.count(df)

    /** Of a complete result, the rows with these values. NULL is found where the column is NULL. */
    def lookup(values: Map[String, Any]): DataFrame = {
      val (names, found) = values.toSeq.unzip
      Lookups(df, names, found.map(lit))
    }

    /** Of a complete result, the rows with the values of one row of `keys`. */
    def lookup(keys: DataFrame): DataFrame = Lookups(df, keys)

    /** How often a row is in a complete result, by the values of all its columns. */
    def weightOf(row: Map[String, Any]): BigInt = {
      val (names, found) = row.toSeq.unzip
      Lookups.weight(df, names, found.map(lit))
    }

    /** Of a complete result, the rows from number `offset` on, at most `size` of them. The order is
      * the same for every reader of a batch.
      */
    def page(offset: BigInt, size: Int): DataFrame = ResultsOnDemand.page(df, offset, size.toLong)

    /** Of a complete result, a uniform sample of `size` rows; all, if it has no more. With
      * `replacement` rows may come several times.
      */
    def sampleOf(size: Int, seed: Long, replacement: Boolean = false): DataFrame =
      ResultsOnDemand.sample(df, size.toLong, seed, replacement)
  }
}
