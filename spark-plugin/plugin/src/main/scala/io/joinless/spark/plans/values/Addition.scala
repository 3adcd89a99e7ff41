package io.joinless.spark.plans.values

import io.joinless.spark.spec.{BlockSpec, GroupShape}

/** Where changes of equal rows must be added up. */
sealed trait Addition

object Addition {

  /** Nowhere: there are no changes of equal rows, or the form has a row for each of them. */
  case object None extends Addition

  /** Within each partition. */
  case object Within extends Addition

  /** Across partitions. */
  case object Across extends Addition

  /** The attributes by which cells are chosen and that the result does not project, so that
    * different cells can return equal rows.
    *
    * A column projects its attribute where it is the stored key itself: equal columns are then
    * equal keys.
    */
  def hidden(spec: BlockSpec, projectedColumns: Seq[Int]): Seq[Int] = {
    val projected = projectedColumns.filter(_ >= 0).map(spec.output)
    spec.attributes.indices.filter { x =>
      spec.shares(x) > 1 && !projected.exists { c =>
        spec.relations(c.relation).keys.exists(k => k.attribute == x && k.ordinal == c.ordinal)
      }
    }
  }

  /** Changes of a block's result must be added up where some can cancel others out, or the form has
    * one row for all copies.
    */
  def apply(spec: BlockSpec, form: DeltaForm, projectedColumns: Seq[Int]): Addition = {
    val cancel = spec.inputs.exists(_.retractable)
    val crosses = hidden(spec, projectedColumns).nonEmpty
    def differ = crosses || spec.output.indices.exists(!projectedColumns.contains(_))
    if (form != DeltaForm.Weight && !(cancel && differ)) None
    else if (crosses) Across
    else Within
  }

  /** Where all columns of groups are projected, different rows are of different groups or of
    * different times of one group; where the grouping columns are, equal rows are of one group.
    */
  def apply(groups: GroupShape, form: DeltaForm, projectedColumns: Seq[Int]): Addition = {
    val keys = groups.columns.size
    if (groups.isClosing && form != DeltaForm.Weight) None
    else if ((0 until keys + groups.functions.size).forall(projectedColumns.contains)) None
    else if ((0 until keys).forall(projectedColumns.contains)) Within
    else Across
  }
}
