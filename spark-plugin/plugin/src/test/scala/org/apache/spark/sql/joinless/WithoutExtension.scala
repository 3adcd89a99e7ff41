package org.apache.spark.sql.joinless

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.StaticSQLConf.SPARK_SESSION_EXTENSIONS

/** A session of the same application that has none of its extensions, as if Spark did not find
  * their classes.
  */
object WithoutExtension {

  def apply(session: SparkSession): SparkSession = {
    val context = classicOf(session).sparkContext
    val configured = context.conf.get(SPARK_SESSION_EXTENSIONS)
    context.conf.remove(SPARK_SESSION_EXTENSIONS)
    try new org.apache.spark.sql.classic.SparkSession(context)
    finally configured.foreach(context.conf.set(SPARK_SESSION_EXTENSIONS, _))
  }
}
