package io.joinless.spark.errors

import org.apache.spark.BreakingChangeInfo
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.trees.Origin

/** An error in the query, a conf or the checkpoint, known when a batch is planned.
  *
  * A Spark exception in every respect but that its condition is defined in our file: Python's
  * `getCondition`, `getMessageParameters` and `getSqlState` read it from the exception itself.
  */
final class JoinlessAnalysisException(
    condition: String,
    parameters: Map[String, String],
    because: Option[Throwable] = None
) extends AnalysisException(
      message = ErrorTexts.sentence(condition, parameters),
      cause = because,
      errorClass = Some(condition),
      messageParameters = parameters,
      sqlState = Some(ErrorTexts.sqlState(condition)),
      messageTemplate = Some(ErrorTexts.template(condition))
    ) {
  override def getBreakingChangeInfo: BreakingChangeInfo = null

  /** Returns this error. Spark would copy it without our text, and PySpark looks up the text of
    * errors that have a position among Spark's.
    */
  override def withPosition(origin: Origin): AnalysisException = this
}
