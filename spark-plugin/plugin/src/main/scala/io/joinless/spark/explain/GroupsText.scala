package io.joinless.spark.explain

import io.joinless.spark.plans.{Addition, DeltaForm, DeltaRows, Groups}

/** A GROUP BY that keeps state, as lines for people: what is grouped, what is stored, how changes are told. */
object GroupsText {

  def heading(groups: Groups): String = s"Groups: ${groups.title}"

  /** @param deltas what tells the changes of the groups themselves, if nothing with state is between */
  def apply(groups: Groups, deltas: Option[DeltaRows]): String = {
    val stored =
      if (groups.shape.columns.isEmpty) "one row in Spark's state store"
      else "one row per group in Spark's state store, by the group's key"
    val told = deltas.map { d =>
      val sum = DeltaRows.addition(groups.shape, d.shownColumns) match {
        case Addition.None => "handed out as they are found"
        case Addition.Within => "equal rows added up within each partition"
        case Addition.Across =>
          "equal rows added up over all partitions, because the result does not show every grouping column"
      }
      val goes = if (d.form == DeltaForm.Weight) "weight -1" else "delete"
      s"  changes: in ${d.form.column}; a group that changes goes with its old values ($goes) and comes with its new ones; $sum"
    }
    val cost = "  cost: one read and one write of the store for each group that a batch touches"
    (Seq(heading(groups), s"  stored: $stored", cost) ++ told).mkString("\n")
  }
}
