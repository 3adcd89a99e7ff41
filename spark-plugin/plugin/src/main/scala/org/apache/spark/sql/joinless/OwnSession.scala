package org.apache.spark.sql.joinless

import org.apache.spark.sql.{DataFrame, classic}

/** Sessions for work that sets settings which no other thread may have. `cloneSession` is private
  * to Spark.
  */
object OwnSession {

  /** The same rows in a session of their own, with the settings and temporary views of now. */
  def of(rows: DataFrame): DataFrame =
    classic.Dataset.ofRows(classicOf(rows.sparkSession).cloneSession(), Plans.analyzed(rows))
}
