package org.apache.spark.sql.joinless

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSession

/** The Spark that this jar is built for, and whether it is the one that runs.
  *
  * A jar fits one minor version: classes that it calls move and change between them (architecture D9).
  */
object SparkVersion {

  val Built = "4.2"

  def running: String = SPARK_VERSION

  /** Fails with `JOINLESS_SPARK_VERSION` where the running Spark is another one. */
  def check(found: String = running): Unit =
    if (found.split("[.-]").take(2).mkString(".") != Built)
      throw JoinlessErrors.sparkVersion(found, Built, "classes of Spark that it calls differ between versions")

  /** Fails where the running Spark lacks what the plugin stands on ([[SparkMembers]]) and a query would go on with our state. */
  def checkFor(session: SparkSession, checkpoint: String): Unit =
    for (member <- SparkMembers.missing if MarkedState.exists(session, checkpoint))
      throw JoinlessErrors.sparkVersion(
        running,
        Built,
        s"this build of Spark lacks $member, and the checkpoint $checkpoint holds state of Joinless"
      )
}
