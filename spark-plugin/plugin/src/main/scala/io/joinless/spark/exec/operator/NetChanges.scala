package io.joinless.spark.exec.operator

import io.joinless.spark.plans.values.{Addition, DeltaForm}
import org.apache.spark.sql.execution.SparkPlan

/** An operator that emits changes which are net over all of its own columns, within each of its
  * partitions.
  */
private[exec] trait NetChanges {

  /** The addition that is still needed where only the columns `projected` are output, in `form`. */
  private[exec] def addition(form: DeltaForm, projected: Seq[Int]): Addition

  /** Whether rows can be deleted. */
  private[exec] def retracts: Boolean
}

private[exec] object NetChanges {

  /** The topmost such operators of a plan: several below a union. */
  def nearest(plan: SparkPlan): Seq[NetChanges] = plan match {
    case changes: NetChanges => Seq(changes)
    case other => other.children.flatMap(nearest)
  }

  /** The addition that is still needed of the changes of a plan, of which the columns `projected` are
    * output. Parts of a union can yield equal rows.
    */
  def addition(plan: SparkPlan, form: DeltaForm, projected: Seq[Int]): Addition = nearest(plan) match {
    case Seq(one) => one.addition(form, projected)
    case several if form != DeltaForm.Weight && !several.exists(_.retracts) => Addition.None
    case _ => Addition.Across
  }
}
