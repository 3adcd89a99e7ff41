package io.joinless.spark.procedures

import io.joinless.spark.evolve.{BeginWithStoredRows, Evolution}
import io.joinless.spark.views.ReplaceView
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.{BooleanType, StringType}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** `CALL joinless.evolve('/old', 'SELECT ...', '/new')`: lets the query that will have a new
  * checkpoint begin with the rows that another query has stored. With `dry_run => true` it only
  * says which tables are read again.
  */
private[procedures] object EvolveProcedure
    extends ViewProcedure("evolve", "Lets a changed query begin with the rows that another one has stored") {

  override val parameters: Array[ProcedureParameter] = Array(
    required("old_checkpoint", StringType, "the checkpoint of the query that has stored rows"),
    required("query", StringType, "the text of the changed query, over Delta tables"),
    required("new_checkpoint", StringType, "the folder of a checkpoint that has not begun"),
    optional("dry_run", BooleanType, "false", "whether only to say which tables are read again")
  ) ++ ofDataFrames

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame = {
    val (old, next) = (needed(arguments, 0), needed(arguments, 2))
    if (arguments.isNullAt(3)) throw noValue(3)
    val df = query(session, arguments)(query = 1, tables = 4).getOrElse(throw noValue(1))
    val found = Evolution(df, old)
    if (!arguments.getBoolean(3)) BeginWithStoredRows.request(session, next, old)
    StoredPlan(session, ReplaceView.Plan.of(found))
  }
}
