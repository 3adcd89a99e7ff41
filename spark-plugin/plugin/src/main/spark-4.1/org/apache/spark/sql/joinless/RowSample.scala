package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Sample}

/** A sample, by a fraction, of single rows: TABLESAMPLE (n PERCENT) and `df.sample`. */
object RowSample {

  /** The bounds of the part of [0, 1) that is drawn, whether with replacement, the seed, and what
    * is sampled.
    */
  def unapply(plan: LogicalPlan): Option[(Double, Double, Boolean, Long, LogicalPlan)] = plan match {
    case Sample(lower, upper, replacement, seed, rows) => Some((lower, upper, replacement, seed, rows))
    case _ => None
  }
}
