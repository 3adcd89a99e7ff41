package io.joinless.spark.start

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.run.MarkedState
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.{SparkMembers, SparkVersion}

/** Whether the Spark that runs is one that this jar can run on. */
object SparkCheck {

  /** Fails with `JOINLESS_SPARK_VERSION` where the running Spark is of another minor version. */
  def version(found: String = SparkVersion.running): Unit =
    if (!SparkVersion.fits(found)) refuse(found, "classes of Spark that it calls differ between versions")

  /** Fails where the running Spark lacks what the plugin stands on ([[SparkMembers]]) and a query would go on with our state. */
  def members(session: SparkSession, checkpoint: String): Unit =
    for (member <- SparkMembers.missing if MarkedState.exists(session, checkpoint))
      refuse(
        SparkVersion.running,
        s"this build of Spark lacks $member, and the checkpoint $checkpoint holds state of Joinless"
      )

  private def refuse(found: String, what: String): Nothing =
    throw JoinlessErrors.sparkVersion(found, SparkVersion.Built, what)
}
