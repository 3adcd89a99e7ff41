package io.joinless.spark.start

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.operator.ReadInParts
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.{CheckedSink, SparkMembers}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.SparkPlan

/** Refuses a batch that the function of a `foreachBatch` read in part only, before Spark marks it
  * as done.
  *
  * A cell commits when the last of its rows is read. Spark checks whether all cells did so, but
  * after it has written the batch to its commit log: the checkpoint could not be continued, since
  * the state of a batch that is done would be missing. If changes are added up after the cells,
  * cells are always read to their end; then the partitions of sums are checked, too.
  *
  * It wraps the user's sink ([[CheckedSink]]).
  */
final class WholeBatches(session: SparkSession) extends StartRule {

  override protected def started(write: WriteToStream): WriteToStream =
    if (mayBeOurs(write.inputQuery)) CheckedSink.around(write, WholeBatches.check) else write

  /** Whether a batch may have operators of ours: it joins, or has compiled nodes. */
  private def mayBeOurs(query: LogicalPlan): Boolean =
    SparkMembers.missing.isEmpty && Inspection.conf(session).enabled && query.exists {
      case _: Join | _: JoinFreeJoin | _: Groups => true
      case _ => false
    }
}

object WholeBatches {

  /** Refuses a batch of which an operator of ours was not read to its end. */
  private def check(batch: Long, executed: SparkPlan): Unit = {
    val operators = executed.collect { case operator: ReadInParts => operator }
    val left = operators.map(_.partsLeft).sum
    if (left > 0) throw JoinlessErrors.batchNotRead(batch, left, operators.map(_.parts).sum)
  }
}
