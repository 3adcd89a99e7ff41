package io.joinless.spark.exec

import io.joinless.spark.exec.operator.LateRows
import io.joinless.spark.state.times.RowLifetimes
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.joinless.Watermarks

/** The rows of a stream that are not late ([[io.joinless.spark.plans.nodes.InTime]]).
  *
  * @param watermarks those of the query's streams; None if no query runs
  */
final case class InTimeExec(times: Seq[Expression], lag: Long, watermarks: Option[Watermarks], child: SparkPlan)
    extends UnaryExecNode with LateRows.Dropped {

  override lazy val metrics: Map[String, SQLMetric] =
    Map(LateRows.RowsDropped -> SQLMetrics.createMetric(sparkContext, "late rows dropped"))

  override def output: Seq[Attribute] = child.output

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override def lateBy: String = times.flatMap(_.references.map(_.name)).distinct.mkString(", ")

  override protected def stringArgs: Iterator[Any] = Iterator(times)

  /** Drops rows one of whose times is not after the watermark of late rows less `lag`
    * (microseconds). Without a watermark no row is late.
    */
  override protected def doExecute(): RDD[InternalRow] = {
    val (scan, dropped) = (child.output, longMetric(LateRows.RowsDropped))
    val lagMs = RowLifetimes.ceilMillis(lag)
    watermarks.flatMap(w => Watermarks.condition(times, w.lateMs - lagMs)).fold(
      child.execute()
    ) {
      late => child.execute().mapPartitions(LateRows.without(_, late, scan, () => dropped += 1))
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): InTimeExec = copy(child = newChild)
}
