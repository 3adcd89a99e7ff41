package io.joinless.spark.strategy

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.JoinFreeExec
import io.joinless.spark.plans.JoinFreeJoin
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink
import org.apache.spark.sql.joinless.{Inspection, SparkMembers}

/** Refuses a batch that the function of a `foreachBatch` read in part only, before Spark marks it as done.
  *
  * A cell commits when the last of its rows is read. Spark looks whether all cells did so, but after it has written the batch
  * to its commit log: the checkpoint could not go on, since the state of a batch that is done would be missing.
  *
  * It puts a sink around the user's.
  */
final class WholeBatches(session: SparkSession) extends StartRule {

  override protected def started(write: WriteToStream): WriteToStream = write.sink match {
    case _: WholeBatchSink => write
    case sink: ForeachBatchSink[_] if mayBeOurs(write.inputQuery) => write.copy(sink = new WholeBatchSink(sink))
    case _ => write
  }

  private def mayBeOurs(query: LogicalPlan): Boolean =
    SparkMembers.missing.isEmpty && Inspection.conf(session).enabled && query.exists {
      case _: Join | _: JoinFreeJoin => true
      case _ => false
    }
}

/** The user's sink; its batches must be read as a whole. Spark knows a sink that runs user code by its class. */
final class WholeBatchSink(users: Sink) extends ForeachBatchSink[Row]((_, _) => (), null) {

  override def addBatch(batch: Long, data: DataFrame): Unit = {
    users.addBatch(batch, data)
    val joins = data.queryExecution.executedPlan.collect { case join: JoinFreeExec => join }
    val left = joins.map(_.cellsLeft).sum
    if (left > 0) throw JoinlessErrors.batchNotRead(batch, left, joins.map(_.spec.cells).sum)
  }

  override def toString: String = users.toString
}
