package io.joinless.spark.views

import io.joinless.spark.errors.ViewErrors
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.streaming.StreamingQuery

/** Why a query has stopped, in one line.
  *
  * Spark wraps the error of a batch several times, and has that of a function of `foreachBatch` as
  * text only. The line is that of the innermost error: one of Joinless, else one with a condition.
  */
private[spark] object Failure {

  /** Conditions of Spark that only say where an error was raised. */
  private val Wrappers = Set("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")

  private val Condition = """\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\] """.r

  /** None while the query runs, and if it was stopped. */
  def line(query: StreamingQuery): Option[String] = query.exception.map(line(_))

  def line(raised: Throwable): String = {
    val causes = this.causes(raised)
    val named = causes.reverse.flatMap(cause => Option(cause.getMessage)).flatMap(inText)
    val text = named.collectFirst { case (condition, text) if condition.startsWith("JOINLESS_") => text }
      .orElse(causes.collectFirst { case error: SparkThrowable if isCause(error.getCondition) => error.getMessage })
      .orElse(named.collectFirst { case (condition, text) if isCause(condition) => text })
    text.map(inOneLine).orElse(Option(raised.getMessage).flatMap(_.linesIterator.nextOption()))
      .getOrElse(raised.getClass.getName)
  }

  private def causes(raised: Throwable): Seq[Throwable] =
    Iterator.iterate[Throwable](raised)(_.getCause).takeWhile(_ != null).take(100).toSeq

  /** Why the query of a view has stopped, where the tables that it reads, its own table or its
    * checkpoint are no longer what they were: as an error of ours, which says what to do.
    */
  def ofTables(query: StreamingQuery): Option[Throwable] = for {
    raised <- query.exception if isOfTables(raised)
    view <- StartedQueries.view(query)
  } yield ViewErrors.tables(view, cause(raised))

  /** The line of an error without the words that Spark puts around it. */
  private def cause(raised: Throwable): String = {
    val text = line(raised)
    Gone.findFirstIn(text).getOrElse(text)
  }

  /** What to do about an error, in a sentence; None if it is not one of tables that were changed.
    */
  def advice(view: String, line: String): Option[String] =
    Option.when(isOfTables(line)) {
      s"If a table was created anew, has other columns, or has lost changes that the view has not read, " +
        s"joinless.replace('$view') reads all tables again."
    }

  /** Whether an error, or one of its causes, is one of tables that were changed: their files are
    * gone, or their columns are others.
    */
  def isOfTables(raised: Throwable): Boolean =
    causes(raised).flatMap(cause => Option(cause.getMessage)).exists(isOfTables)

  private def isOfTables(text: String): Boolean =
    Condition.findAllMatchIn(text).exists(found => OfTables.matches(found.group(1))) || Gone.findFirstIn(text).isDefined

  /** A folder that Hadoop does not find: of a table, or of a checkpoint. */
  private val Gone = """\bFile \S+ does not exist\b""".r

  /** Conditions of Delta Lake, and of files that are gone. */
  private val OfTables = "(?!.*CONCURRENT)(DELTA|DIFFERENT_DELTA|FAILED_READ_FILE)[A-Z0-9_.]*".r

  private def isCause(condition: String): Boolean = condition != null && !Wrappers(condition)

  /** The errors that a text names: their conditions, and their lines up to the SQLSTATE. */
  private def inText(text: String): Iterator[(String, String)] = Condition.findAllMatchIn(text).map { found =>
    val message = text.substring(found.start).split(Trace, 2).head
    val end = message.indexOf(" SQLSTATE: ")
    found.group(1) -> (if (end >= 0) message.take(end) else message.split("\n|\\\\n", 2).head)
  }

  /** Where a stack trace begins, of Java or of Python. */
  private val Trace = "\\s+at [\\w.$]+\\(|Traceback \\(most recent"

  /** A message may have several lines, the line breaks of texts of Python included. */
  private def inOneLine(message: String): String =
    message.split(Trace, 2).head.split(" SQLSTATE: ", 2).head.replaceAll("(\\s|\\\\n)+", " ").trim.take(MaxLength)

  final private val MaxLength = 1000
}
