package io.joinless.spark.start

import io.joinless.spark.checkpoint.MarkedState
import io.joinless.spark.compile.DeltaCompiler
import io.joinless.spark.conf.Built
import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.SparkMembers

/** Checks that this jar can run on the running Spark.
  *
  * A jar fits one minor version: classes that it calls move and change between them. A build of
  * that version may still lack a member that the plugin needs (architecture D9).
  */
object SparkCheck {

  /** Fails with `JOINLESS_SPARK_VERSION` if the running Spark is of another minor version. */
  def version(found: String = SPARK_VERSION): Unit =
    if (found.split("[.-]").take(2).mkString(".") != Built.Spark)
      refuse(found, "classes of Spark that it calls differ between versions")

  /** Fails if the running Spark lacks a member that the plugin needs ([[SparkMembers]]) and a query
    * would continue our state.
    */
  def members(session: SparkSession, checkpoint: String): Unit =
    for (member <- SparkMembers.missing if MarkedState.exists(session, checkpoint))
      refuse(
        SPARK_VERSION,
        s"this build of Spark lacks $member, and the checkpoint $checkpoint holds state of Joinless"
      )

  /** Fails if a query that starts was not compiled: the analyzer ignores the rule that does it. */
  def compiled(query: LogicalPlan): Unit =
    if (DeltaCompiler.hasMarks(query))
      refuse(SPARK_VERSION, "the analyzer of this session ignores the rules that compile queries over changes")

  /** Throws the error that this Spark cannot be used. */
  private def refuse(found: String, what: String): Nothing =
    throw JoinlessErrors.sparkVersion(found, Built.Spark, what)
}
