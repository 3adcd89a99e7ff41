package io.joinless.spark.views

import io.joinless.spark.writer.{ApplyChanges, Target}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, SparkSession}

/** A view that a streaming query of changes fills by its sink. Nothing of it is known before its
  * first batch: the table is found or created then.
  *
  * @param into the table
  * @param key columns that are unique in the result; none for a bag
  */
final private[views] class SinkView(val into: String, key: Seq[String]) {

  private val target = Target(into)
  private val changes = new ApplyChanges(target, Option.when(key.nonEmpty)(key), None, shared = false)
  private var begun = false

  /** Fails if rows with these columns are no changes that a table could take. */
  def check(session: SparkSession, columns: StructType): Unit = target.checkNew(session, columns, key)

  /** Applies the changes of a batch. */
  def apply(rows: DataFrame, batch: Long): Unit = {
    if (!begun) begin(rows, batch)
    begun = true
    changes(rows, batch)
  }

  /** Finds or creates the table, and notes in it which checkpoint fills it. */
  private def begin(rows: DataFrame, batch: Long): Unit = {
    val session = rows.sparkSession
    val id = Option(session.sparkContext.getLocalProperty("sql.streaming.queryId"))
    val (query, plan) = id.flatMap(Plans.running).getOrElse(throw target.error("NO_APP_ID"))
    val record = ViewRecord(None, None, Nil, Some(Plans.checkpoint(query)))
    val location = target.found(session) match {
      case None if batch > 0 => throw target.error("TARGET_GONE", "checkpoint" -> record.checkpoint.mkString)
      case None => ViewTable.create(target, rows, key, record)
      case Some(there) =>
        target.checkNotRead(session, plan, there)
        StartedQueries.checkNotRunning(into, there.location, other = true)
        val before = ViewRecord.of(there.properties)
        if (batch == 0 && !before.contains(record)) {
          if (!target.isEmpty(session)) throw target.error("TARGET_NOT_EMPTY")
          target.exchange(session, before.toSeq.flatMap(_.properties.keys), record.properties)
        }
        there.location
    }
    StartedQueries.add(location, query, into)
  }
}
