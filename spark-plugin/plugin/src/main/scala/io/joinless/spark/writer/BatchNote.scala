package io.joinless.spark.writer

import scala.util.Try

import org.apache.spark.sql.{Row, SparkSession}
import org.json4s.JsonAST.{JInt, JLong, JNull, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** What a commit of a target says, in its `userMetadata`, of the batch that it is. So a batch is
  * distinguished from another one of the same number.
  *
  * Delta remembers the last number of each writer, and skips a batch that is not newer. That is
  * right for a batch that is run again, and wrong for a batch that is planned anew after the
  * checkpoint was restored from an older copy.
  *
  * @param planned when the batch was planned, in milliseconds since 1970: the same when it runs
  *   again; None where it is unknown
  */
final private[spark] case class BatchNote(writer: String, batch: Long, planned: Option[Long]) {

  /** The note as text, behind the text `before`. */
  def text(before: Option[String]): String = {
    val time = planned.fold[JValue](JNull)(JLong(_))
    val fields = JObject("writer" -> JString(writer), "batch" -> JLong(batch), "planned" -> time)
    (before.filter(_.nonEmpty) ++ Seq(compact(render(JObject("joinless" -> fields))))).mkString(" ")
  }
}

private[spark] object BatchNote {

  /** How many commits are searched for one of a writer: first a few, enough for a view that is
    * alone in its table.
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

  /** The note at the end of a commit's text, which may follow a text of the user's ([[text]]); None
    * if it has none.
    *
    * @param commit its version and its `userMetadata`
    */
  private def of(commit: Row): Option[BatchNote] = for {
    text <- Option(commit.getString(1))
    start = text.lastIndexOf("{\"joinless\"") if start >= 0
    note <- Try(parse(text.substring(start)) \ "joinless").toOption
    found <- Some((note \ "writer", note \ "batch", note \ "planned")).collect {
      case (JString(writer), JInt(batch), JInt(planned)) => BatchNote(writer, batch.toLong, Some(planned.toLong))
      case (JString(writer), JInt(batch), _) => BatchNote(writer, batch.toLong, None)
    }
  } yield found
}
