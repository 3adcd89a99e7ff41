package io.joinless.spark.exec.groups

import scala.jdk.CollectionConverters._

import io.joinless.engine.algebra.WeightOverflow
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.state.groups.{GroupArgument, GroupTotals}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The groups that a batch touches, in the order in which they first occur. */
final private class TouchedGroups(arguments: Array[GroupArgument]) {
  private[this] val groups = new java.util.LinkedHashMap[UnsafeRow, GroupTotals]

  def size: Int = groups.size

  /** The totals of a group, whose row is copied if it is new. */
  def apply(group: UnsafeRow): GroupTotals = {
    val known = groups.get(group)
    if (known != null) known
    else {
      val totals = GroupTotals.changes(arguments)
      groups.put(group.copy(), totals)
      totals
    }
  }

  def iterator: Iterator[(UnsafeRow, GroupTotals)] =
    groups.entrySet.iterator.asScala.map(entry => (entry.getKey, entry.getValue))
}

private object TouchedGroups {

  /** Runs `body`, which adds totals; an overflow is the user's error. */
  def adding[A](body: => A): A =
    try body
    catch { case _: WeightOverflow => throw JoinlessErrors.weightOverflow() }
}
