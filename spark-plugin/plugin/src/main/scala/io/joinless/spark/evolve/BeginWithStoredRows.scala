package io.joinless.spark.evolve

import io.joinless.spark.errors.EvolveErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.spec.StoredRelations
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.{CheckpointBeginning, CheckpointFolder, SparkMembers}

/** When a query starts: records what its blocks will store of which stream; and where the
  * checkpoint says so ([[Beginning]]), lets the first batch end where another query stood
  * ([[CheckpointBeginning]]).
  *
  * The offsets are written last: an interrupted start leaves a checkpoint that has not begun.
  */
object BeginWithStoredRows {

  /** @param plan the query as it is started */
  def apply(session: SparkSession, plan: LogicalPlan, checkpoint: String): Unit =
    if (SparkMembers.missing.isEmpty && Relations.isOurs(plan)) {
      val now = Relations(plan).stored
      val record = Evolution.record(session, checkpoint)
      if (hasBegun(session, checkpoint)) {
        // a query that goes on may store less of a stream, or filter it in another way, so that the
        // state has rows of both: the record keeps what both store; without a record none is made
        val before = record.read().flatMap(StoredRelations.of)
        for (before <- before; both = before.narrowed(now) if both != before) record.write(both.json)
      } else {
        record.write(now.json)
        Beginning.read(session, checkpoint).foreach(beginning => begin(session, plan, checkpoint, beginning.from))
      }
    }

  private def begin(session: SparkSession, plan: LogicalPlan, checkpoint: String, from: String): Unit = {
    val evolution = Inspection.within(session)(Evolution(session, plan, from))
    Beginning.file(session, checkpoint).write(Beginning.of(evolution).text)
    if (evolution.taken.nonEmpty)
      new CheckpointBeginning(session, checkpoint).write(from, evolution.sources, evolution.offsets)
  }

  /** Lets a query that will have this checkpoint take over from the query of another one.
    *
    * @throws JoinlessAnalysisException the checkpoint has begun
    */
  def request(session: SparkSession, checkpoint: String, from: String): Unit = {
    if (hasBegun(session, checkpoint)) throw EvolveErrors.begun(checkpoint)
    Beginning.file(session, checkpoint).write(Beginning(from, None, Nil).text)
  }

  private def hasBegun(session: SparkSession, checkpoint: String): Boolean =
    new CheckpointFolder(session, new Path(checkpoint)).begun.isDefined
}
