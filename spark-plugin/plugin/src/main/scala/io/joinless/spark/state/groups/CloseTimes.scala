package io.joinless.spark.state.groups

import io.joinless.spark.spec.GroupShape
import io.joinless.spark.state.times.RowLifetimes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The times when groups close: the watermark from which no further row of a group is accepted,
  * read from its grouping columns. Watermarks are milliseconds.
  */
final private[spark] class CloseTimes(shape: GroupShape) {
  private[this] val times =
    shape.closes.map(new RowLifetimes.Moment(_, shape.columns)).toArray

  /** The least of the group's times: each row of it has all of them. The greatest long if all are
    * NULL: it never closes.
    */
  def of(group: UnsafeRow): Long = {
    var least = Long.MaxValue
    for (time <- times) if (!time.isNull(group)) least = math.min(least, RowLifetimes.ceilMillis(time.micros(group)))
    least
  }
}
