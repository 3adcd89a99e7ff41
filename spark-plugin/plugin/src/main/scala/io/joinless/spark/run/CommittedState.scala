package io.joinless.spark.run

import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.state.{ChangeLog, CommittedLogs}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.CheckpointLogs

/** What a checkpoint holds of ours, read from outside while its query may be running. Nothing is written. */
final class CommittedState(session: SparkSession, checkpoint: String) {
  private val logs = new CheckpointLogs(session, checkpoint)

  def exists: Boolean = logs.exists

  /** Batches whose commit is there, ascending. */
  def batches: Seq[Long] = logs.batches

  /** Our join blocks as of a batch, and what else has state. */
  def operators(batch: Long): OperatorMetadata.Found = OperatorMetadata.read(session, logs.state, batch)

  /** The logs of an operator's cells as of a committed batch; None where they are gone. */
  def cells(batch: Long, operator: Long): Option[CommittedLogs] =
    logs.stores(batch, operator, ChangeLog.KeySchema, ChangeLog.ValueSchema) { (key, name) =>
      throw JoinlessErrors.stateMismatch(
        Mismatch.Unreadable,
        logs.path.toString,
        s"Its query ran with $key=${name.take(200)}; to read it, set the same in the session, if you know that class."
      )
    }.map(new CommittedLogs(_))
}
