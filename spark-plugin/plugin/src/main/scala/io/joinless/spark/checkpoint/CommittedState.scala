package io.joinless.spark.checkpoint

import scala.util.control.NonFatal

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors, Mismatch}
import io.joinless.spark.state.CommittedStores
import io.joinless.spark.state.groups.StoredGroups
import io.joinless.spark.state.log.ChangeLog
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.CheckpointLogs
import org.apache.spark.sql.types.StructType

/** The state of ours in a checkpoint as of one committed batch, read from outside while its query
  * may be running. Nothing is written.
  */
final class CommittedState private (logs: CheckpointLogs, val checkpoint: String, val batch: Long) {

  /** Our join blocks and groups, and whether other operators have state. */
  lazy val operators: OperatorMetadata.Found = OperatorMetadata.read(logs.session, logs.state, batch)

  /** The time zone by which the query has computed values; None if it has none that depend on it. */
  def zone: Option[String] =
    (operators.ours.flatMap(_.spec.shape.meaning.flatMap(_.zone)) ++ operators.groups.flatMap(_.shape.zone)).headOption

  /** The logs of a block's cells. */
  def stores(block: Recorded): CommittedStores =
    stores(block.operator, ChangeLog.KeySchema, None, ChangeLog.ValueSchema)

  /** The stores of the totals of groups. */
  def stores(groups: RecordedGroups): CommittedStores = stores(
    groups.operator,
    StoredGroups.keySchema(groups.shape),
    StoredGroups.keyPrefix(groups.shape),
    StoredGroups.ValueSchema
  )

  /** The stores of an operator as of the batch. Throws where the query ran with a class for its
    * stores that this session does not name, and where the batch's logs are deleted meanwhile.
    *
    * @param prefix entries are found by that many of the first columns of their keys, too
    */
  private def stores(operator: Long, key: StructType, prefix: Option[Int], value: StructType): CommittedStores = {
    val stores = logs.stores(batch, operator, key, prefix, value) { (conf, name) =>
      throw JoinlessErrors.stateMismatch(
        Mismatch.Unreadable,
        logs.path.toString,
        s"Its query ran with $conf=${name.take(200)}; to read it, set the same in the session, if you know that class."
      )
    }
    new CommittedStores(stores.getOrElse(throw JoinlessErrors.batchNotAvailable(batch, checkpoint, logs.batches)))
  }
}

object CommittedState {

  /** The state of a checkpoint as of a committed batch; an error if there is none, or if it is not
    * kept.
    *
    * @param batch the last committed one, if None
    */
  def apply(session: SparkSession, checkpoint: String, batch: Option[Long]): CommittedState = {
    val (logs, batches) = reached(session, checkpoint)
    if (batches.isEmpty) throw JoinlessErrors.noBatch(checkpoint)
    val chosen = batch.getOrElse(batches.last)
    if (!batches.contains(chosen)) throw JoinlessErrors.batchNotAvailable(chosen, checkpoint, batches)
    new CommittedState(logs, checkpoint, chosen)
  }

  /** The logs, and the batches that are committed. Whatever fails meanwhile is reported as a
    * checkpoint that cannot be reached.
    */
  private def reached(session: SparkSession, checkpoint: String): (CheckpointLogs, Seq[Long]) =
    try {
      val logs = new CheckpointLogs(session, checkpoint)
      if (!logs.exists) throw JoinlessErrors.noCheckpoint(checkpoint)
      (logs, logs.batches)
    } catch {
      case named: JoinlessAnalysisException => throw named
      case NonFatal(e) => throw JoinlessErrors.unreachableCheckpoint(checkpoint, e)
    }
}
