package io.joinless.spark.errors

import org.apache.spark.ErrorClassesJsonReader

/** The texts of error conditions, as they stand in `error/joinless-error-conditions.json`. */
object ErrorTexts {

  private lazy val reader: ErrorClassesJsonReader =
    new ErrorClassesJsonReader(Seq(getClass.getClassLoader.getResource("error/joinless-error-conditions.json")))

  /** The text of an error in Spark's form: condition, sentence, SQLSTATE. */
  def sentence(condition: String, parameters: Map[String, String]): String =
    s"[$condition] ${reader.getErrorMessage(condition, parameters)} SQLSTATE: ${sqlState(condition)}"

  def sqlState(condition: String): String = reader.getSqlState(condition)

  def template(condition: String): String = reader.getMessageTemplate(condition)
}
