package io.joinless.spark.procedures

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.views.{ReplaceView, WantedView}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.{BooleanType, IntegerType, StringType, StructType}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

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
  )

  private val Plan: StructType = StructType.fromDDL("name STRING, read_again BOOLEAN, why STRING")

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame = {
    val (view, key, trigger) = (needed(arguments, 0), names(arguments, 2), text(arguments, 3))
    val wanted = text(arguments, 1).fold(WantedView.again(session, view, None, key, trigger)) { query =>
      WantedView.of(session, query, Map.empty, key, trigger)
    }
    val cells = Option.unless(arguments.isNullAt(5))(arguments.getInt(5))
    cells.filter(_ < 1).foreach(found => throw ViewErrors.cells(found))
    if (arguments.isNullAt(6)) throw noValue(6)
    if (arguments.getBoolean(6)) planned(session, ReplaceView.plan(wanted, view, cells))
    else ended(session, view, ReplaceView(wanted, view, cells, text(arguments, 4)), trigger)
  }

  private def planned(session: SparkSession, plan: ReplaceView.Plan): DataFrame = {
    val stored = plan.stored.map(name => Row(name, false, s"stored rows, as of batch ${plan.batch.mkString}"))
    val again = plan.again.map { case (name, why) => Row(name, true, why) }
    session.createDataFrame((stored ++ again).asJava, Plan)
  }
}
