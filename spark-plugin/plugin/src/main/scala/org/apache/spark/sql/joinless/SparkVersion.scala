package org.apache.spark.sql.joinless

import org.apache.spark.SPARK_VERSION

/** The Spark that this jar is built for, and the one that runs.
  *
  * A jar fits one minor version: classes that it calls move and change between them (architecture D9).
  */
object SparkVersion {

  val Built = "4.2"

  def running: String = SPARK_VERSION

  /** Whether a version is one of the minor version that this jar is built for. */
  def fits(version: String): Boolean = version.split("[.-]").take(2).mkString(".") == Built
}
