package io.joinless.spark.procedures

import io.joinless.spark.views.Status
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.{DataFrame, SparkSession}

/** `CALL joinless.status()`: what views are doing. */
private[procedures] object StatusProcedure
    extends ViewProcedure(
      "status",
      "One row for each view of the current database, or for one view: what it is doing"
    ) {

  override val parameters: Array[ProcedureParameter] =
    Array(optional("view", StringType, "NULL", "the table of a view; all views of the current database if NULL"))

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame =
    Status.dataFrame(session, text(arguments, 0).map(Seq(_)))
}
