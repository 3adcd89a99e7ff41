package org.apache.spark.sql.joinless

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.streaming.{Offset => OffsetV2, ReadLimit, SupportsTriggerAvailableNow}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.streaming.runtime.{SerializedOffset, StreamingExecutionRelation}
import org.apache.spark.sql.execution.streaming.{Offset, Source}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, SparkSession, classic}

/** The rows of a static plan as a stream: all of them are inserted in the first batch, and later
  * batches have none.
  *
  * The offset is the version of the rows. A first batch that runs again must read the same version.
  * Spark asks for the rows of a batch that is done, too, and does not read them: so nothing is
  * computed or checked before they are read.
  *
  * `Source`, `LogicalRDD` and `StreamingExecutionRelation` are internal to Spark.
  *
  * @param places the tables and paths that it reads
  * @param now computes the version
  * @param check fails if the version is not this one any more
  */
final class StaticSource(
    session: SparkSession,
    val name: String,
    val places: Seq[String],
    val plan: LogicalPlan,
    now: () => String,
    check: String => Unit
) extends Source
    with SupportsTriggerAvailableNow {
  private var version: Option[String] = None

  override def schema: StructType = plan.schema

  override def getOffset: Option[Offset] = {
    if (version.isEmpty) version = Some(now())
    version.map(SerializedOffset(_))
  }

  /** All rows are available at once, so a run with `availableNow` needs no bound. */
  override def prepareForTriggerAvailableNow(): Unit = ()

  override def latestOffset(start: OffsetV2, limit: ReadLimit): OffsetV2 = getOffset.orNull

  override def getBatch(start: Option[Offset], end: Offset): DataFrame = {
    version = Some(end.json)
    val own = classicOf(session)
    val rows = if (start.isDefined) own.sparkContext.emptyRDD[InternalRow] else read(own, end.json)
    classic.Dataset.ofRows(own, LogicalRDD(plan.output.map(_.newInstance()), rows, isStreaming = true)(own))
  }

  /** The rows, if they have this version when they are read. */
  private def read(own: classic.SparkSession, version: String): RDD[InternalRow] = new RowsOnDemand(
    own.sparkContext,
    () => {
      check(version)
      classic.Dataset.ofRows(own, plan).queryExecution.toRdd
    }
  )

  override def stop(): Unit = ()

  override def toString: String = s"$name, read once"
}

object StaticSource {

  /** A scan of the source under the columns of its plan. */
  def scan(session: SparkSession, source: StaticSource): LogicalPlan =
    StreamingExecutionRelation(source, source.plan.output, None)(classicOf(session))

  /** The source that a plan scans. */
  def unapply(plan: LogicalPlan): Option[StaticSource] = plan match {
    case scan: StreamingExecutionRelation => Some(scan.source).collect { case source: StaticSource => source }
    case _ => None
  }
}
