package org.apache.spark.sql.joinless

import org.apache.spark.sql.SparkSession

/** A session whose jobs nobody looks at: what Spark keeps of each for its UI, also where there is none, is not computed. */
object Unobserved {

  def apply(session: SparkSession): Unit = {
    val classic = classicOf(session)
    val context = classic.sparkContext
    classic.sharedState.statusStore.listener.foreach(context.removeSparkListener)
    context.statusStore.listener.foreach(context.removeSparkListener)
  }
}
