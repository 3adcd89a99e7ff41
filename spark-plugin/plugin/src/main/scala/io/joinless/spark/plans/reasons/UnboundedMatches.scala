package io.joinless.spark.plans.reasons

/** The matches of rows of `relation`, which have a time, are unbounded: later rows of `by` can
  * match them at any time.
  *
  * @param timeOfBy the time of rows of `by`, where they have one
  */
final case class UnboundedMatches(relation: String, time: String, by: String, timeOfBy: Option[String]) {

  /** Advice to the user. */
  def advice: String = timeOfBy.fold(s"Give rows of $by a watermark, and a condition on both times.") { other =>
    s"Add a condition on both times, such as $by.$other BETWEEN $relation.$time AND $relation.$time + INTERVAL '1' HOUR."
  }
}

/** A column of results that is a time of such rows: later results can have a time long below the
  * watermark.
  */
final case class UnboundedTime(column: Int, matches: UnboundedMatches)
