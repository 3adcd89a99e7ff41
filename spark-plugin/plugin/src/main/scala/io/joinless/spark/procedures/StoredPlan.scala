package io.joinless.spark.procedures

import scala.jdk.CollectionConverters._

import io.joinless.spark.views.ReplaceView
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

/** From what a changed query begins, as rows: one for each table or stream, with the batch whose
  * stored rows are taken, or the reason why it is read again.
  */
private[procedures] object StoredPlan {

  private val Columns: StructType = StructType.fromDDL("name STRING, read_again BOOLEAN, why STRING, batch BIGINT")

  def apply(session: SparkSession, plan: ReplaceView.Plan): DataFrame = {
    val batch = plan.batch.map(Long.box).orNull
    val stored = plan.stored.map(name => Row(name, false, s"stored rows, as of batch ${plan.batch.mkString}", batch))
    val again = plan.again.map { case (name, why) => Row(name, true, why, batch) }
    session.createDataFrame((stored ++ again).asJava, Columns)
  }
}
