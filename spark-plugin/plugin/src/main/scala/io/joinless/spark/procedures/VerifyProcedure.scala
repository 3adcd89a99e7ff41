package io.joinless.spark.procedures

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.views.Verification
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.{IntegerType, StringType, StructType}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

/** `CALL joinless.verify(view => 'v')`: whether the table of a view is equal to its query. One row
  * says so. With `differences => 100` the result is up to a hundred rows that differ instead.
  */
private[procedures] object VerifyProcedure
    extends ViewProcedure("verify", "Compares the table of a view with its query, over the versions that it has read") {

  /** The result is in the memory of the driver. */
  private val Most = 100000

  override val parameters: Array[ProcedureParameter] = Array(
    required("view", StringType, "the table of a view"),
    optional("query", StringType, "NULL", "the text of a query over Delta tables; that of the view if NULL"),
    optional("differences", IntegerType, "0", "how many of the rows that differ to return; 0 for one row of numbers")
  )

  private val Summary: StructType = StructType.fromDDL(
    "view STRING, version BIGINT, batch BIGINT, rows BIGINT, missing BIGINT, extra BIGINT, rounded BIGINT, " +
      "is_equal BOOLEAN"
  )

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame = {
    val view = needed(arguments, 0)
    val query = text(arguments, 1)
    if (arguments.isNullAt(2)) throw noValue(2)
    val differences = arguments.getInt(2)
    if (differences < 0 || differences > Most)
      throw ViewErrors.numberOfRows(name, parameters(2).name, differences.toString, Most)
    val found = Verification(session, view, query)
    if (differences > 0) found.differences.limit(differences)
    else session.createDataFrame(Seq(summary(found)).asJava, Summary)
  }

  private def summary(found: Verification): Row =
    Row(
      found.view,
      found.version,
      found.batch,
      found.rows,
      found.missing,
      found.extra,
      found.rounded,
      found.isEqual
    )
}
