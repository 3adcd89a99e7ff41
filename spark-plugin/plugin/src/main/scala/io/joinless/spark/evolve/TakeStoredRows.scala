package io.joinless.spark.evolve

import io.joinless.spark.checkpoint.{CommittedState, StreamContext}
import io.joinless.spark.errors.EvolveErrors
import io.joinless.spark.source.Snapshot
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.joinless.RunningBatch

/** In the first batch of a query that takes over from another one, reads stored rows in place of
  * the streams ([[Evolution]]). Spark has the batch end where the other query stood
  * ([[BeginWithStoredRows]]); so a first batch that runs again reads the same rows.
  *
  * A plan-normalization rule. Other plans stay as they are.
  */
final class TakeStoredRows(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val taking = for {
      batch <- StreamContext.current(session)
      if batch.batch == 0 && Relations.isOurs(plan)
      beginning <- Beginning.read(session, batch.checkpoint)
      if beginning.taken.nonEmpty
    } yield replaced(plan, batch, beginning)
    taking.getOrElse(plan)
  }

  /** The plan in which stored rows are read. What is read of which operator is decided by the query
    * as it was started, whose streams are still to be seen there.
    */
  private def replaced(plan: LogicalPlan, batch: RunningBatch, beginning: Beginning): LogicalPlan = {
    val evolution = Evolution(session, batch.analyzed, beginning.from, beginning.batch)
    if (Beginning.of(evolution) != beginning) throw EvolveErrors.otherQuery(batch.checkpoint)
    val state = CommittedState(session, beginning.from, beginning.batch)
    val snapshots = evolution.taken.map(_.operator).distinct.map(o => o -> Snapshot(state, Some(o))).toMap
    new TakenRows(evolution.taken, snapshots).in(plan)
  }
}
