package io.joinless.spark.start

import io.joinless.spark.checkpoint.SourcesRecord
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.rules.scans.{SharedMark, SharedSources}
import org.apache.spark.sql.joinless.SparkMembers
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream

/** Lets the scans of a query that read the same stream share one source, when the query starts
  * ([[SharedSources]]).
  *
  * Only streams that nothing but rewritten join blocks read are shared: a query of Spark's keeps
  * Spark's sources. The choice is recorded in the checkpoint, since offsets belong to sources: a
  * checkpoint begun with separate sources keeps them, and one whose record does not fit the query
  * is refused. So is one whose record is lost: sources of files keep logs, and the existing logs
  * show that sources were shared.
  *
  * A query whose scans share sources already is not changed: the recorded choice stays.
  */
final class ShareSources(session: SparkSession) extends StartRule {

  /** The write with shared sources. A query whose sources are shared already is not changed. */
  override protected def started(write: WriteToStream): WriteToStream =
    if (SparkMembers.missing.isDefined || write.inputQuery.exists(SharedMark.isOn)) write
    else {
      val numbers = chosen(write, new SourcesRecord(session, write.resolvedCheckpointLocation))
      val shared = SharedSources.shared(write.inputQuery, numbers)
      if (shared eq write.inputQuery) write else write.copy(inputQuery = shared)
    }

  /** The number of the source of each scan, in preorder; scans of one number share. If no batch was
    * begun, it is chosen now, and recorded if scans share that Spark would keep apart; else the
    * recorded numbers hold. Without a record only those share that share in Spark.
    *
    * @throws JoinlessAnalysisException the record does not fit the query, or logs of sources show
    *   that it is lost
    */
  private def chosen(write: WriteToStream, record: SourcesRecord): Seq[Int] = {
    val query = write.inputQuery
    val apart = SharedSources.apart(query)
    if (!record.hasOffsets) {
      val numbers = if (mayShare) ofNewQuery(query, apart) else apart
      if (numbers != apart) record.write(numbers) else record.delete()
      numbers
    } else
      record.read() match {
        case Some(recorded) =>
          if (!SharedSources.fits(query, recorded)) {
            val what = ShareSources.differs(recorded)
            throw JoinlessErrors.stateMismatch(Mismatch.Query, write.resolvedCheckpointLocation, what)
          }
          recorded
        case None =>
          if (isLost(query, apart, record))
            throw JoinlessErrors.stateMismatch(
              Mismatch.Unreadable,
              write.resolvedCheckpointLocation,
              ShareSources.Lost
            )
          apart
      }
  }

  /** Whether the checkpoint was begun with shared sources although it has no record of it: there
    * are logs for the sources that would be shared, and not for all that would be apart.
    */
  private def isLost(query: LogicalPlan, apart: Seq[Int], record: SourcesRecord): Boolean = {
    val shared = ofNewQuery(query, apart)
    shared != apart && {
      val logs = record.withLog
      val files = SharedSources.readFiles(query)

      /** Whether each source of files has a log under its number. */
      def areThere(numbers: Seq[Int]) = numbers.zip(files).forall { case (number, reads) => !reads || logs(number) }
      logs.subsetOf(shared.toSet) && areThere(shared) && !areThere(apart)
    }
  }

  /** Whether a new query may share sources, by its settings. */
  private def mayShare: Boolean = {
    val conf = Inspection.conf(session)
    conf.enabled && conf.shareSources
  }

  /** The choice for a new query. Plans the query only if there is something to share. */
  private def ofNewQuery(query: LogicalPlan, apart: Seq[Int]): Seq[Int] =
    if (SharedSources.together(query, _ => true) == apart) apart
    else SharedSources.together(query, SharedSources.inBlocksOnly(query, Inspection.optimized(session, _)))
}

object ShareSources {

  private val Lost = "The record of its shared sources, joinless/sources, is not there."

  /** The difference of a query from the recorded sources, as a sentence. */
  private def differs(recorded: Seq[Int]): String =
    s"It was begun by a query that reads ${recorded.size} streams from ${recorded.distinct.size} shared sources; the query reads " +
      "others, or in another order."
}
