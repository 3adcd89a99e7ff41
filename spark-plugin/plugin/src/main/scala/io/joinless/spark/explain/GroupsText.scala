package io.joinless.spark.explain

import io.joinless.spark.plans.{Addition, BestRows, DeltaForm, DeltaRows, GroupFunction, Groups}

/** A GROUP BY that keeps state, as lines for people: what is grouped, what is stored, how changes are told. */
object GroupsText {

  def heading(groups: Groups): String = s"Groups: ${groups.title}"

  /** @param deltas what tells the changes of the groups themselves, if nothing with state is between */
  def apply(groups: Groups, deltas: Option[DeltaRows]): String = {
    val group =
      if (groups.shape.columns.isEmpty) "one row in Spark's state store"
      else "one row per group in Spark's state store, by the group's key"
    val stored = group + values(groups)
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

  private def values(groups: Groups): String = {
    val first =
      groups.functions.zip(groups.shape.functions).collect { case (GroupFunction(best: BestRows, _, _), spec) =>
        if (!spec.values) ", with its first rows"
        else if (best.limit.isDefined) ", with its first rows and a few more, and each of its rows by itself"
        else ", and each of its rows by itself"
      }
    first.headOption.getOrElse(if (groups.shape.holdsValues) ", and each different value that it needs" else "")
  }
}
