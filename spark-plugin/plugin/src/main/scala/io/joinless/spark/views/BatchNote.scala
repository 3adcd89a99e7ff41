package io.joinless.spark.views

import scala.util.Try

import org.apache.spark.sql.{Row, SparkSession}
import org.json4s.jackson.JsonMethods.parse
import org.json4s.{JInt, JString}

/** What a commit of a target says, in its `userMetadata`, of the batch that it is. `apply_changes`
  * writes it.
  */
final private[views] case class BatchNote(writer: String, batch: Long)

private[views] object BatchNote {

  /** How many commits are searched for one of a writer: first a few, enough for a view that is alone
    * in its table.
    */
  private val Few = 20
  private val Many = 1000

  /** The newest version of a table, and the note of the newest commit of a writer up to it; None if
    * the last thousand commits have none.
    */
  def newest(session: SparkSession, table: String, writer: String): (Long, Option[BatchNote]) = {
    def newestFirst(most: Int): Seq[Row] =
      session.sql(s"DESCRIBE HISTORY $table LIMIT $most").select("version", "userMetadata").collect().toSeq
        .sortBy(-_.getLong(0))
    def note(commits: Seq[Row]): Option[BatchNote] = commits.flatMap(of).find(_.writer == writer)
    val few = newestFirst(Few)
    val commits = if (few.size < Few || note(few).isDefined) few else newestFirst(Many)
    commits.head.getLong(0) -> note(commits)
  }

  private def of(commit: Row): Option[BatchNote] = for {
    text <- Option(commit.getString(1))
    start = text.lastIndexOf("{\"joinless\"") if start >= 0
    note <- Try(parse(text.substring(start)) \ "joinless").toOption
    found <- Some(note \ "writer" -> note \ "batch").collect {
      case (JString(writer), JInt(batch)) => BatchNote(writer, batch.toLong)
    }
  } yield found
}
