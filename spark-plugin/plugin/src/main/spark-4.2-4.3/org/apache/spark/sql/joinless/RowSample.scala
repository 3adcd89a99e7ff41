package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Sample, SampleMethod}

/** A sample, by a fraction, of single rows: TABLESAMPLE (n PERCENT) and `df.sample`. Not of blocks
  * of files (SYSTEM).
  */
object RowSample {

  /** The bounds of the part of [0, 1) that is drawn, whether with replacement, the seed, and what
    * is sampled.
    */
  def unapply(plan: LogicalPlan): Option[(Double, Double, Boolean, Long, LogicalPlan)] = plan match {
    case Sample(lower, upper, replacement, Some(seed), rows, SampleMethod.Bernoulli) =>
      Some((lower, upper, replacement, seed, rows))
    case _ => None
  }
}
