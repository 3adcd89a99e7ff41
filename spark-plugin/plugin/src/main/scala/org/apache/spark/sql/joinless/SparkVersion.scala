package org.apache.spark.sql.joinless

import scala.util.Try

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.SPARK_VERSION

/** The Spark that this jar is built for, and whether it is the one that runs.
  *
  * A jar fits one minor version: classes that it calls move and change between them (architecture D9).
  */
object SparkVersion {

  val Built = "4.2"

  def running: String = SPARK_VERSION

  /** Fails with `JOINLESS_SPARK_VERSION` where the running Spark is another one, or lacks what the plugin stands on. */
  def check(found: String = running): Unit = {
    if (found.split("[.-]").take(2).mkString(".") != Built)
      throw JoinlessErrors.sparkVersion(found, Built, "classes of Spark that it calls differ between versions")
    Try(StreamContext.NextStateInfo).failed.foreach { missing =>
      throw JoinlessErrors.sparkVersion(found, Built, s"this build of Spark lacks ${missing.getMessage}")
    }
  }
}
