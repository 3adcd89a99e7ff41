package org.apache.spark.sql.joinless

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic

/** DataFrames of own plans. `Dataset.ofRows` is private to Spark, `queryExecution` to classic sessions; checked on 4.2.0. */
object Plans {

  def analyzed(df: DataFrame): LogicalPlan = df.asInstanceOf[classic.Dataset[_]].queryExecution.analyzed

  /** A DataFrame of `plan` in the session of `df`. */
  def dataFrame(df: DataFrame, plan: LogicalPlan): DataFrame =
    classic.Dataset.ofRows(df.sparkSession.asInstanceOf[classic.SparkSession], plan)
}
