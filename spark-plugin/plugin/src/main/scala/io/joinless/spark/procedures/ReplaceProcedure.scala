package io.joinless.spark.procedures

import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.views.{ReplaceView, WantedView}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.{BooleanType, IntegerType, StringType}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** `CALL joinless.replace('orders_per_item', 'SELECT ...')`: gives a view another query, or another
  * number of cells. The call ends when the table has its rows. With `dry_run => true` it only says
  * which tables are read again.
  */
private[procedures] object ReplaceProcedure
    extends ViewProcedure("replace", "Gives a view another query, or another number of cells") {

  override val parameters: Array[ProcedureParameter] = Array(
    required("view", StringType, "the table of a view"),
    optional("query", StringType, "NULL", "the text of a query over Delta tables; that of the view if NULL")
  ) ++ ofItsQuery ++ Array(
    optional("cells", IntegerType, "NULL", "the number of parts into which the state is divided"),
    optional("dry_run", BooleanType, "false", "whether only to say which tables are read again")
  ) ++ ofDataFrames

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame = {
    // 0 view, 1 query, 2 key, 3 trigger, 4 name, 5 cells, 6 dry_run, 7 tables, 8 temp_view
    val (view, key, trigger) = (needed(arguments, 0), names(arguments, 2), text(arguments, 3))
    val next = wanted(session, arguments)(query = 1, key = 2, trigger = 3, tables = 7)
      .getOrElse(WantedView.again(session, view, tables(session, arguments, 7), key, trigger))
    val cells = Option.unless(arguments.isNullAt(5))(arguments.getInt(5))
    cells.filter(_ < 1).foreach(found => throw ViewErrors.cells(found))
    if (arguments.isNullAt(6)) throw noValue(6)
    if (arguments.getBoolean(6)) StoredPlan(session, ReplaceView.plan(next, view, cells))
    else ended(session, view, ReplaceView(next, view, cells, text(arguments, 4)), trigger)
  }
}
