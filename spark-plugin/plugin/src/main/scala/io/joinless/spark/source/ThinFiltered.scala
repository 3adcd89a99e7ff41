package io.joinless.spark.source

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.joinless.RowSample

/** Plans a sample, by a fraction, of those rows of a complete result that satisfy conditions: the
  * scan draws it, at the cost of the sampled rows.
  *
  * Spark offers a scan a sample only where no condition stands between them, and before conditions.
  * Here the scan has been offered the conditions, and checks those that it has not taken on its
  * rows. A part of a split does not begin at 0: parts must not overlap, so Spark makes them all.
  */
object ThinFiltered extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case RowSample(0.0, fraction, replacement, seed, rows) =>
      ResultsOnDemand.thinned(rows, Reading.Thinned(math.max(0.0, fraction), replacement, seed)).map(planLater).toSeq
    case _ => Nil
  }
}
