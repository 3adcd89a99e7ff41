package io.joinless.spark.procedures

import scala.jdk.CollectionConverters._

import io.joinless.spark.views.DropView
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

/** `CALL joinless.drop('orders_per_item')`: stops a view and removes its table and its checkpoint.
  */
private[procedures] object DropProcedure
    extends ViewProcedure("drop", "Stops a view, drops its table and deletes its checkpoint") {

  override val parameters: Array[ProcedureParameter] = Array(required("view", StringType, "the table of a view"))

  private val Dropped: StructType = StructType.fromDDL("view STRING")

  override protected def rows(session: SparkSession, arguments: InternalRow): DataFrame = {
    val view = needed(arguments, 0)
    DropView(session, view)
    session.createDataFrame(Seq(Row(view)).asJava, Dropped)
  }
}
