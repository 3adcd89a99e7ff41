package io.joinless.spark.views

import java.util.Locale

import org.apache.spark.sql.streaming.StreamingQueryProgress

/** Advice on a running query, in whole sentences, from the reports of its batches. */
object Advice {

  /** At least this many batches with rows are needed for advice. */
  private val EnoughBatches = 5

  /** The percentage of steps, and the number of rows, from which another tree is recommended. */
  private val Worthwhile = 25
  private val EnoughRows = 1000

  /** All advice that follows from the reports that Spark remembers. */
  def apply(recent: Seq[StreamingQueryProgress]): Seq[String] = {
    val batches = Reports.ofBatches(recent)
    val busy = batches.filter(batch => batch.numInputRows > 0 && Reports.time(batch, "watermark").isDefined)
    val last = if (busy.size >= EnoughBatches) busy.takeRight(EnoughBatches) else Nil
    batches.lastOption.toSeq.flatMap(trees) ++ heldWatermark(last) ++ lateRows(batches) ++ lateResults(batches) ++
      endlessRows(last)
  }

  /** An input without rows that holds the watermark back, so that state grows. */
  private def heldWatermark(recent: Seq[StreamingQueryProgress]): Option[String] =
    for {
      last <- recent.lastOption
      watermark <- Reports.time(last, "watermark")
      newest = recent.map(Reports.time(_, "max").getOrElse("")).max
      idle = last.sources.indices.filterNot(i => recent.exists(_.sources(i).numInputRows > 0))
      if idle.nonEmpty && Reports.time(recent.head, "watermark").contains(watermark) && watermark < newest
    } yield s"The watermark has stood at $watermark for ${recent.size} batches or more, and rows up to $newest arrived. " +
      s"No rows arrived from ${idle.map(last.sources(_).description).mkString(" and ")}. The watermark is the least of " +
      "all inputs that have one, so stored rows stay until such an input goes on. If the query does not use its time, " +
      "leave withWatermark out there."

  /** Rows that were dropped as late, however few: their columns, and the watermark by which the last
    * of them was late.
    */
  private def lateRows(batches: Seq[StreamingQueryProgress]): Option[String] = {
    val last = batches.lastIndexWhere(Reports.late(_) > 0)
    Option.when(last >= 0) {
      val columns = Reports.lateBy(batches).toSeq.sorted.map { case (times, rows) => s"${number(rows)} by $times" }
      val by = if (columns.isEmpty) "" else columns.mkString(" (", ", ", ")")
      // rows are late by the watermark of the batch before
      val stood = batches.lift(last - 1).flatMap(Reports.time(_, "watermark")).fold("") { watermark =>
        s"The watermark stood at $watermark when the last of them arrived, in batch ${batches(last).batchId}. "
      }
      s"Late rows were dropped: ${number(batches.map(Reports.late).sum)}$by. ${stood}A longer delay in withWatermark " +
        "keeps such rows. Stored rows then stay longer, and final rows are emitted later."
    }
  }

  /** Results that Spark's own operators may treat as late, reported before there are any. */
  private def lateResults(batches: Seq[StreamingQueryProgress]): Option[String] = {
    val times = batches.lastOption.toSeq.flatMap(Reports.anyAge)
    Option.when(times.nonEmpty) {
      val lost = batches.map(Reports.lateForSpark).sum
      val soFar = if (lost > 0) s" Late rows that they have dropped so far: ${number(lost)}." else ""
      s"Results of the join can have a time ${times.mkString(" or ")} of any age, and operators above it drop results " +
        s"whose time the watermark has passed.$soFar joinless.why_not says what bounds such a time."
    }
  }

  /** A watermark by which no row is evicted. */
  private def endlessRows(recent: Seq[StreamingQueryProgress]): Option[String] = {
    val joins = recent.lastOption.toSeq.flatMap(Reports.joins)
    Option.when(joins.nonEmpty && !recent.exists(Reports.nextEnd(_).isDefined)) {
      s"The query has a watermark, and none of ${number(joins.map(_.numRowsTotal).sum)} stored rows has an end. " +
        "joinless.explain says which condition is missing; joinless.expire lets rows expire by their age."
    }
  }

  /** Join trees that were chosen for other sizes of the relations. */
  private def trees(batch: StreamingQueryProgress): Seq[String] =
    for {
      operator <- Reports.joins(batch)
      saved = Reports.figure(operator, "stepsSaved")
      if saved >= Worthwhile && operator.numRowsTotal >= EnoughRows
      sizes = Reports.rowsOf(operator).toSeq.sorted
      hint = sizes.map { case (relation, rows) => s"$relation=${rows.max(1)}" }.mkString(",")
    } yield s"Another join tree of ${sizes.map(_._1).mkString(", ")} would take $saved % fewer steps, if they change as " +
      s"often as they have rows. spark.joinless.relationSizes=$hint chooses it, with a new checkpoint."

  private def number(rows: Long): String = String.format(Locale.ROOT, "%,d", Long.box(rows))
}
