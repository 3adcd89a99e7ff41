package io.joinless.spark

import io.joinless.spark.changes.Changes
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.DeltaForm
import io.joinless.spark.source.FullResult
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.expressions.Window
import org.apache.spark.sql.functions.{col, row_number}

/** What Scala users import: `import io.joinless.spark.api._`. */
package object api {

  /** A column that numbers the rows of a key. */
  final private val Latest = "_joinless_row_number"

  /** Changes in, changes out. */
  implicit final class DataFrameSyntax(private val df: DataFrame) extends AnyVal {

    /** The relation whose changes `df` tells by a column of change types (STRING: `insert`, `delete`, …). It shows the
      * other columns, to be used in SQL like a table.
      */
    def changelog(changeType: String = DeltaForm.ChangeType.column): DataFrame =
      Changes.changelog(df, Some(changeType), None)

    /** The relation whose changes `df` tells by a column of signed counts (whole numbers). */
    def weightedChangelog(weight: String = DeltaForm.Weight.column): DataFrame =
      Changes.changelog(df, None, Some(weight))

    /** The stream, of which each row is a row, though it may be a change feed: deletions count as rows, and so do old values. */
    def takenAsRows: DataFrame = Changes.rows(df)

    /** The rows that are not older than `after`, such as `"1 hour"`: a row goes when the watermark reaches its time in `column`, a
      * TIMESTAMP with a watermark, and `after`. A query over them tells what comes and what goes.
      */
    def expire(column: String, after: String): DataFrame = Changes.expire(df, column, after)

    /** The newest row of each key: that with the greatest `order`. Of rows that are equal in `order` it is one, always the same. */
    def latest(key: Seq[String], order: Seq[String]): DataFrame = {
      val newest = order.map(col(_).desc_nulls_last)
      df.withColumn(Latest, row_number().over(Window.partitionBy(key.map(col): _*).orderBy(newest: _*)))
        .where(col(Latest) === 1).drop(Latest)
    }

    /** The net changes of the result, batch by batch: with a column `_change_type` (`insert` or `delete`, a row per copy),
      * or for `output = "weight"` with `_weight` (one row with the signed count). For `output = "on_close"` each row of the result once,
      * when it is final, with no other columns: Spark's append mode, for every query.
      */
    def incrementalEnumerate(output: String = DeltaForm.ChangeType.name): DataFrame =
      Changes.deltas(df, DeltaForm.of(output).getOrElse(throw JoinlessErrors.deltaForm(output)))

    /** The complete result of the streaming query as of the last committed batch of a checkpoint, or of an older one that it
      * still keeps: a batch DataFrame, enumerated from the state while it is read. The query may be running or stopped. Where
      * it fits several joins of the checkpoint, `operator` is the number of the one that is meant.
      */
    def enumerateFull(checkpoint: String, batchId: Option[Long] = None, operator: Option[Long] = None): DataFrame =
      FullResult(df, checkpoint, batchId, operator)
  }
}
