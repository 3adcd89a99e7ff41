package org.apache.spark.sql.joinless

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.{BreakingChangeInfo, SparkRuntimeException}

/** An error of a running task.
  *
  * Python knows a fixed list of exception classes; `SparkRuntimeException` (private to Spark) is one of them; Spark gives it no constructor for a condition
  * that is not its own, so the superclass gets one of Spark's and each accessor answers with ours.
  */
final class JoinlessRuntimeException(condition: String, parameters: Map[String, String])
    extends SparkRuntimeException("INTERNAL_ERROR", Map("message" -> condition)) {

  override val getMessage: String = JoinlessErrors.sentence(condition, parameters)
  override def getCondition: String = condition
  override def getErrorClass: String = condition
  override def getMessageParameters: java.util.Map[String, String] = parameters.asJava
  override def getSqlState: String = JoinlessErrors.sqlState(condition)
  override def getDefaultMessageTemplate: String = JoinlessErrors.template(condition)
  override def isInternalError: Boolean = false
  override def getBreakingChangeInfo: BreakingChangeInfo = null
}
