package io.joinless.spark.procedures

import io.joinless.spark.views.StartView
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.{DataFrame, SparkSession}

/** `CALL joinless.materialize('SELECT ...', 'orders_per_item')`: starts a view. With the trigger
  * `availableNow` the call ends with the query; else the query runs on.
  */
private[procedures] object MaterializeProcedure
    extends ViewProcedure("materialize", "Keeps a Delta table equal to a query while its tables change") {

  override val parameters: Array[ProcedureParameter] = Array(
    required("query", StringType, "the text of a query over Delta tables"),
    required("into", StringType, "the table; created if it does not exist"),
    optional("checkpoint", StringType, "NULL", "a folder; by default the one that the table names, or one beside it")
  ) ++ ofItsQuery ++ ofDataFrames

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame = {
    // 0 query, 1 into, 2 checkpoint, 3 key, 4 trigger, 5 name, 6 tables, 7 temp_view
    val (into, trigger) = (needed(arguments, 1), text(arguments, 4))
    val view = wanted(session, arguments)(query = 0, key = 3, trigger = 4, tables = 6).getOrElse(throw noValue(0))
    ended(session, into, StartView(view, into, text(arguments, 2), text(arguments, 5)), trigger)
  }
}
