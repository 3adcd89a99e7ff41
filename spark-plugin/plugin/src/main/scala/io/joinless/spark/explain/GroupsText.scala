package io.joinless.spark.explain

import io.joinless.spark.plans.nodes.{DeltaRows, Groups}
import io.joinless.spark.plans.reasons.{TimeText, WindowTexts}
import io.joinless.spark.plans.values.{Addition, BestRows, DeltaForm, GroupFunction}
import io.joinless.spark.spec.TimeSpec

/** A GROUP BY that keeps state, as lines of text for users: what is grouped, what is stored, how
  * changes are emitted.
  */
object GroupsText {

  /** The groups in one line. */
  def heading(groups: Groups): String = {
    val sql = ReadableSql.above(groups.child)
    val keys = groups.shape.columns.map(column => sql(column.name))
    val by = if (keys.isEmpty) "all rows in one group" else s"by ${keys.mkString(", ")}"
    s"Groups: ${groups.purpose.getOrElse((by +: groups.shape.functions.map(f => sql(f.text))).mkString(", "))}"
  }

  /** Heading, state, cost and emission of groups, a line each.
    *
    * @param deltas the node that emits the changes of the groups themselves, if there is no node
    *   with state between
    */
  def apply(groups: Groups, deltas: Option[DeltaRows]): String = {
    val group =
      if (groups.shape.columns.isEmpty) "one row in Spark's state store"
      else "one row per group in Spark's state store, by the group's key"
    val stored = group + values(groups) + (if (groups.shape.isClosing) ", until it closes" else "")
    val emitted = if (groups.shape.isClosing) closing(groups) else deltas.toSeq.map(changes(groups, _))
    val looks = if (groups.shape.isClosing) "; in a batch in which groups close, a look at each that is open" else ""
    val searches = if (groups.shape.isAsOf) "; a search by time for each changed row and each changed result" else ""
    val cost = s"  cost: one read and one write of the store for each group that a batch touches$searches$looks"
    (Seq(heading(groups), s"  stored: $stored", cost) ++ emitted).mkString("\n")
  }

  /** How changes of groups are emitted. */
  private def changes(groups: Groups, d: DeltaRows): String = {
    val sum = Addition(groups.shape, d.form, d.projectedColumns) match {
      case Addition.None => "emitted as they are found"
      case Addition.Within => "equal rows added up within each partition"
      case Addition.Across =>
        "equal rows added up over all partitions, because the result does not project every grouping column"
    }
    val deletion = if (d.form == DeltaForm.Weight) "weight -1" else "delete"
    val what =
      if (groups.shape.isAsOf) s"a result whose match changes is deleted ($deletion) and inserted anew"
      else s"a group that changes is deleted with its old values ($deletion) and inserted with its new ones"
    s"  changes: in ${d.form.column}; $what; $sum"
  }

  /** When groups that close are emitted, and which rows are late for them. */
  private def closing(groups: Groups): Seq[String] = {
    val times = groups.shape.closes.map { time =>
      val column = groups.shape.columns(time.ordinal)
      val name = WindowTexts.short(column.name)
      (if (TimeSpec.isWindow(column.dataType)) s"the end of $name" else name) + TimeText.beyond(time.after)
    }
    val emitted = if (groups.shape.emitsFirst) "with its first row; it is forgotten" else "once, and forgotten,"
    Seq(
      s"  emitted: $emitted when the watermark reaches ${times.mkString(" or ")}",
      "  late: rows of groups that have closed are dropped, and counted in numRowsDroppedByWatermark"
    )
  }

  /** What is stored of a group next to its totals, as the end of a sentence. */
  private def values(groups: Groups): String = {
    val first =
      groups.functions.zip(groups.shape.functions).collect { case (GroupFunction(best: BestRows, _, _), spec) =>
        if (!spec.values) ", with its first rows"
        else if (best.limit.isDefined) ", with its first rows and a few more, and each of its rows by itself"
        else ", and each of its rows by itself"
      }
    if (groups.shape.isKey) ", with its only row; another one fails the batch"
    else if (groups.shape.isAsOf) ", and each of its rows by its time"
    else first.headOption.getOrElse(if (groups.shape.holdsValues) ", and each different value that it needs" else "")
  }
}
