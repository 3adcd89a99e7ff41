package io.joinless.suites

import java.time.Instant

import io.joinless.spark.spec.StateFormat
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.streaming.StreamingQueryListener.{QueryProgressEvent, QueryStartedEvent}

/** Records when runs of streaming queries begin, and those that use our operator: the number of
  * tests with it is a figure of the comparison. It listens to Spark's common events, so that the
  * sessions of the suites have no more listeners than their tests count.
  */
class Runs extends SparkListener {

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case started: QueryStartedEvent =>
      Record.add("run", started.runId.toString, Instant.parse(started.timestamp).toEpochMilli.toString)
    case made: QueryProgressEvent if made.progress.stateOperators.exists(_.operatorName == StateFormat.OperatorName) =>
      Record.add("ours", made.progress.runId.toString)
    case _ =>
  }
}
