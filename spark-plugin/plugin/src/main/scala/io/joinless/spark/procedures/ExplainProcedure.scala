package io.joinless.spark.procedures

import scala.jdk.CollectionConverters._

import io.joinless.spark.tables.QueryOverTables
import io.joinless.spark.views.Explanation
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

/** `CALL joinless.explain('SELECT ...')`: how a view with this query would be computed, a row per
  * line of text.
  */
private[procedures] object ExplainProcedure
    extends ViewProcedure(
      "explain",
      "How a view with this query would be computed: its steps, what they store and cost"
    ) {

  override val parameters: Array[ProcedureParameter] =
    Array(required("query", StringType, "the text of a query over Delta tables"))

  private val Lines: StructType = StructType.fromDDL("plan STRING")

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame = {
    val query = needed(arguments, 0)
    val explained = Explanation(QueryOverTables.query(session, query, Map.empty), isView = true)
    session.createDataFrame(explained.text.linesIterator.map(Row(_)).toSeq.asJava, Lines)
  }
}
