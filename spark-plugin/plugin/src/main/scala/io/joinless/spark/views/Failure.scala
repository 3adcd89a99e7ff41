package io.joinless.spark.views

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.streaming.StreamingQuery

/** Why a query has stopped, in one line.
  *
  * Spark wraps the error of a batch several times, and has that of a function of `foreachBatch` as
  * text only. The line is that of the innermost error: one of Joinless, else one with a condition.
  */
private[views] object Failure {

  /** Conditions of Spark that only say where an error was raised. */
  private val Wrappers = Set("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")

  private val Condition = """\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\] """.r

  /** None while the query runs, and if it was stopped. */
  def line(query: StreamingQuery): Option[String] = query.exception.map(line(_))

  def line(raised: Throwable): String = {
    val causes = Iterator.iterate[Throwable](raised)(_.getCause).takeWhile(_ != null).take(100).toSeq
    val named = causes.reverse.flatMap(cause => Option(cause.getMessage)).flatMap(inText)
    val text = named.collectFirst { case (condition, text) if condition.startsWith("JOINLESS_") => text }
      .orElse(causes.collectFirst { case error: SparkThrowable if isCause(error.getCondition) => error.getMessage })
      .orElse(named.collectFirst { case (condition, text) if isCause(condition) => text })
    text.orElse(Option(raised.getMessage)).flatMap(_.linesIterator.nextOption()).getOrElse(raised.getClass.getName)
  }

  private def isCause(condition: String): Boolean = condition != null && !Wrappers(condition)

  /** The errors that a text names: their conditions, and their lines up to the SQLSTATE. */
  private def inText(text: String): Iterator[(String, String)] = Condition.findAllMatchIn(text).map { found =>
    found.group(1) -> text.substring(found.start).split(" SQLSTATE: |\n|\\\\n", 2).head
  }
}
