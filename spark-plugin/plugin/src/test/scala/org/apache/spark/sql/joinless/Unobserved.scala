package org.apache.spark.sql.joinless

import org.apache.spark.sql.SparkSession

/** A session whose jobs are not observed: the data that Spark keeps of each job for its UI, even
  * without a UI, is not computed.
  */
object Unobserved {

  def apply(session: SparkSession): Unit = {
    val classic = classicOf(session)
    val context = classic.sparkContext
    classic.sharedState.statusStore.listener.foreach(context.removeSparkListener)
    context.statusStore.listener.foreach(context.removeSparkListener)
  }
}
