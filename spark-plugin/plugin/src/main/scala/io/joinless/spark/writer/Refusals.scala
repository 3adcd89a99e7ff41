package io.joinless.spark.writer

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal
import scala.util.matching.Regex

import io.joinless.spark.errors.TargetErrors
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions._
import org.json4s.jackson.JsonMethods

/** Errors that Spark raises in the middle of a statement, so that nothing is written.
  *
  * Columns raise them, as texts. [[named]] turns them into the errors that they are.
  */
private[writer] object Refusals {
  private val Mark = "JOINLESS_APPLY_CHANGES."
  private val Found = s"${Regex.quote(Mark)}([A-Z_]+) (?=\\{)".r

  /** The longest value in a message. */
  private val Most = 1000

  /** Rows as JSON include their NULLs. */
  private val Nulls = Map("ignoreNullFields" -> "false").asJava

  def json(struct: Column): Column = to_json(struct, Nulls)

  /** The text by which [[named]] recognizes an error. */
  def text(what: String, parameters: (String, Column)*): Column = {
    val cut = parameters.map { case (name, value) => substring(value.cast("string"), 1, Most).as(name) }
    concat(lit(s"$Mark$what "), if (cut.isEmpty) lit("{}") else json(struct(cut: _*)))
  }

  /** A value that raises the error when it is computed. */
  def refusal(what: String, parameters: (String, Column)*): Column = raise_error(text(what, parameters: _*))

  /** Runs `body`, and raises the error that a column of it has raised. Spark wraps errors of tasks;
    * the text is in one of the causes.
    */
  def named[A](target: String)(body: => A): A =
    try body
    catch {
      case NonFatal(raised) =>
        val texts = Iterator.iterate[Throwable](raised)(_.getCause).takeWhile(_ != null).take(100)
          .flatMap(cause => Option(cause.getMessage))
        val found = texts.flatMap(text => Found.findFirstMatchIn(text)).nextOption()
        throw found.fold(raised)(error => TargetErrors.caused(error.group(1), target, Some(raised), read(error): _*))
    }

  /** The parameters of an error; what follows them is left. */
  private def read(error: Regex.Match): Seq[(String, String)] =
    JsonMethods.mapper.readTree(error.after.toString).properties.asScala.toSeq
      .map(field => field.getKey -> (if (field.getValue.isNull) "NULL" else field.getValue.asText))
}
