package org.apache.spark.sql.joinless

import scala.jdk.CollectionConverters._

import org.apache.spark.{BreakingChangeInfo, SparkRuntimeException}

/** An error of a running task.
  *
  * Python knows a fixed list of exception classes, and `SparkRuntimeException` (private to Spark)
  * is one of them. Spark gives it no constructor for a condition that is not its own, so the
  * superclass gets one of Spark's and each accessor returns ours.
  *
  * @param sentence with the condition before it and the SQLSTATE after it, as Spark writes its own
  */
final class JoinlessRuntimeException(
    condition: String,
    sentence: String,
    template: String,
    sqlState: String,
    parameters: Map[String, String]
) extends SparkRuntimeException("INTERNAL_ERROR", Map("message" -> condition)) {

  override val getMessage: String = sentence
  override def getCondition: String = condition
  override def getErrorClass: String = condition
  override def getMessageParameters: java.util.Map[String, String] = parameters.asJava
  override def getSqlState: String = sqlState
  override def getDefaultMessageTemplate: String = template
  override def isInternalError: Boolean = false
  override def getBreakingChangeInfo: BreakingChangeInfo = null
}
