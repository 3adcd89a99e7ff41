package io.joinless.spark.evolve

import io.joinless.spark.changes.Changes
import io.joinless.spark.checkpoint.{CommittedState, SmallFile}
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.marks.DeltaOutput
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.spec.StoredRelations
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.{CheckpointLogs, Plans}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** How a query that has not begun takes over from another one: where it reads rows that the other
  * query has stored as of a batch, and which of its streams it reads from their beginning.
  *
  * A stream is taken over where all that is read of it is among the stored rows. Then the query
  * goes on in the stream where the other query stood. Invariant: after the first batch the query
  * has of such a stream what it would have if it had read it up to there. A stream of which it
  * needs more is read from its beginning.
  *
  * @param batch of the other query
  * @param taken what is read of stored rows
  * @param offsets one for each scan: where the other query stood; None where the stream is read
  *   from its beginning
  * @param sources the numbers of sources that continue: the other query's, and this query's
  * @param stored the names of the streams that continue
  * @param again the streams that are read from their beginning, each with the reason, as a clause
  */
final private[spark] case class Evolution(
    checkpoint: String,
    batch: Long,
    taken: IndexedSeq[Taken],
    offsets: IndexedSeq[Option[String]],
    sources: IndexedSeq[(Int, Int)],
    stored: IndexedSeq[String],
    again: IndexedSeq[(String, String)]
)

private[spark] object Evolution {

  /** That of a query which was not started.
    *
    * @param df a query, or the changes of one
    */
  def apply(df: DataFrame, checkpoint: String): Evolution = {
    val (session, query) = (df.sparkSession, Plans.analyzed(df))
    Inspection.within(session) {
      val marked = if (query.exists(_.isInstanceOf[DeltaOutput])) query else Changes.marked(query, DeltaForm.Weight)
      Evolution(session, DeltaCompilation(session, marked), checkpoint)
    }
  }

  /** The record of what the blocks of a checkpoint's query store. */
  def record(session: SparkSession, checkpoint: String): SmallFile = new SmallFile(session, checkpoint, "relations")

  /** @param plan the compiled query
    * @param checkpoint of the other query
    * @param batch of it; the last one that is committed, if None
    */
  def apply(session: SparkSession, plan: LogicalPlan, checkpoint: String, batch: Option[Long] = None): Evolution = {
    val state = CommittedState(session, checkpoint, batch)
    val before = record(session, checkpoint).read().flatMap(StoredRelations.of)
      .getOrElse(StoredRelations(IndexedSeq.empty, IndexedSeq.empty))
    val stood = new CheckpointLogs(session, checkpoint).offsets(state.batch).filter(_.size == before.scans.size)
    val other = new OtherQuery(session, state, before, stood.getOrElse(Nil))
    val scans = Relations(plan).scans
    val found = scans.indices.map(i => scans(i).rows.flatMap(other.taken(i, scans(i).scan.name, _)))
    // the scans of one source go on together, or not at all
    val goesOn = scans.indices.groupBy(scans(_).scan.source).values.flatMap { together =>
      val offsets = together.flatMap(found(_).toOption).map { case (_, offset) => offset }
      together.map(_ -> (offsets.size == together.size && offsets.distinct.size == 1))
    }.toMap
    val (taken, left) = scans.indices.partition(goesOn)
    val again = left.groupBy(scans(_).scan.name).toSeq.sortBy(_._2.min).map { case (name, several) =>
      name -> several.flatMap(found(_).left.toOption).headOption.getOrElse("the other query has read it several times")
    }
    Evolution(
      checkpoint,
      state.batch,
      taken.flatMap(found(_).toOption.map(_._1)),
      scans.indices.map(i => found(i).toOption.collect { case (_, offset) if goesOn(i) => offset }),
      taken.flatMap(i => found(i).toOption.map(t => before.scans(t._1.of.scan).source -> scans(i).scan.source)).distinct,
      taken.map(scans(_).scan.name).distinct.diff(again.map(_._1)),
      again.toIndexedSeq
    )
  }
}
