package io.joinless.spark.plans

/** Rows of `relation`, which have a time, can be joined for ever by later rows of `by`.
  *
  * @param timeOfBy the time of rows of `by`, where they have one
  */
final case class MetForEver(relation: String, time: String, by: String, timeOfBy: Option[String]) {

  /** What the user can do. */
  def advice: String = timeOfBy.fold(s"Give rows of $by a watermark, and a condition on both times.") { other =>
    s"Add a condition on both times, such as $by.$other BETWEEN $relation.$time AND $relation.$time + INTERVAL '1' HOUR."
  }
}

/** A column of results that is a time of such rows: results can have it long after the watermark has passed it. */
final case class UnboundedTime(column: Int, met: MetForEver)
