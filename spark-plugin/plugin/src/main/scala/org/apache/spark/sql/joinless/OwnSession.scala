package org.apache.spark.sql.joinless

import org.apache.spark.sql.{DataFrame, SparkSession, classic}

/** Sessions for work that sets settings which no other thread may have. `cloneSession` is private
  * to Spark.
  */
object OwnSession {

  /** The same rows in a session of their own, with the settings and temporary views of now. */
  def of(rows: DataFrame): DataFrame =
    classic.Dataset.ofRows(classicOf(rows.sparkSession).cloneSession(), Plans.analyzed(rows))

  /** A session with the settings and temporary views of now, but for these settings. */
  def having(session: SparkSession, settings: (String, String)*): SparkSession = {
    val own = classicOf(session).cloneSession()
    settings.foreach { case (key, value) => own.conf.set(key, value) }
    own
  }
}
