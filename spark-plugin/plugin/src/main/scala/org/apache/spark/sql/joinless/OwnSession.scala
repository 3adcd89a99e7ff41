package org.apache.spark.sql.joinless

import org.apache.spark.sql.{DataFrame, SparkSession, classic}

/** Sessions for work that sets settings which no other thread may have. `cloneSession` is private
  * to Spark.
  */
object OwnSession {

  /** The same rows in a session of their own, with the settings and temporary views of now. A batch
    * of a running stream has one already.
    */
  def of(rows: DataFrame, inStream: Boolean): DataFrame = {
    val session = classicOf(rows.sparkSession)
    if (inStream && SparkSession.getActiveSession.exists(_ eq session)) rows
    else classic.Dataset.ofRows(session.cloneSession(), Plans.analyzed(rows))
  }
}
