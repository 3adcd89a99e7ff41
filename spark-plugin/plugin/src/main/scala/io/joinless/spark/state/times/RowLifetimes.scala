package io.joinless.spark.state.times

import io.joinless.spark.spec.{BlockSpec, ColumnSpec, Roles, TimeSpec}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The watermark until which a row is needed, read from its bytes. Watermarks are milliseconds. */
final private[spark] class RowLifetimes(spec: BlockSpec) {
  import RowLifetimes._

  private[this] val ofRelation: Array[Array[Array[Moment]]] = spec.relations.map { r =>
    r.lifetime.map(_.kinds.map(_.map(new Moment(_, spec.inputs(r.input).columns)).toArray).toArray).orNull
  }.toArray
  private[this] val rows = spec.inputs.map(i => new UnsafeRow(i.columns.size)).toArray
  private[this] val inputOf = spec.relations.map(_.input).toArray

  /** Whether rows of the relation are evicted at all. */
  def ends(relation: Int): Boolean = ofRelation(relation) != null

  /** The watermark from which the relation does not need the row; the greatest long if it always
    * does.
    */
  def until(relation: Int, base: AnyRef, offset: Long, bytes: Int): Long = {
    val kinds = ofRelation(relation)
    if (kinds == null) Long.MaxValue
    else {
      val row = rows(inputOf(relation))
      row.pointTo(base, offset, bytes)
      var latest = Long.MinValue
      var i = 0
      while (i < kinds.length) { latest = math.max(latest, latestOf(kinds(i), row)); i += 1 }
      if (latest == Long.MinValue) latest else ceilMillis(latest)
    }
  }

  /** The latest of the times; the least long if the row is not of this kind. */
  private def latestOf(moments: Array[Moment], row: UnsafeRow): Long = {
    var latest = Long.MinValue
    var i = 0
    while (i < moments.length) {
      if (moments(i).isNull(row)) return Long.MinValue
      latest = math.max(latest, moments(i).micros(row))
      i += 1
    }
    latest
  }

  /** Of the roles (bit set) of a row, those in which it is still needed at a watermark. */
  def needed(roles: Long, watermark: Long, base: AnyRef, offset: Long, bytes: Int): Long = {
    var (rolesLeft, stillNeeded) = (roles, roles)
    while (rolesLeft != 0L) {
      val relation = Roles.first(rolesLeft)
      if (until(relation, base, offset, bytes) <= watermark) stillNeeded = Roles.without(stillNeeded, relation)
      rolesLeft = Roles.rest(rolesLeft)
    }
    stillNeeded
  }

  /** The watermark from which a row is needed in none of these roles (bit set). */
  def untilOfAll(roles: Long, base: AnyRef, offset: Long, bytes: Int): Long = {
    var rolesLeft = roles
    var latest = Long.MinValue
    while (rolesLeft != 0L) {
      latest = math.max(latest, until(Roles.first(rolesLeft), base, offset, bytes))
      rolesLeft = Roles.rest(rolesLeft)
    }
    latest
  }
}

private[spark] object RowLifetimes {

  /** A time that a row has in a column. */
  final private[state] class Moment(time: TimeSpec, columns: IndexedSeq[ColumnSpec]) {
    private[this] val window = TimeSpec.isWindow(columns(time.ordinal).dataType)

    /** Whether the row has no such time. */
    def isNull(row: UnsafeRow): Boolean =
      row.isNullAt(time.ordinal) || window && row.getStruct(time.ordinal, 2).isNullAt(1)

    /** Microseconds; the greatest or least long if the time overflows. */
    def micros(row: UnsafeRow): Long = {
      val column = if (window) row.getStruct(time.ordinal, 2).getLong(1) else row.getLong(time.ordinal)
      val sum = column + time.after
      if (((column ^ sum) & (time.after ^ sum)) >= 0) sum else if (column > 0) Long.MaxValue else Long.MinValue
    }
  }

  /** This time in milliseconds, rounded up. */
  def ceilMillis(micros: Long): Long = Math.floorDiv(micros, 1000L) + (if (Math.floorMod(micros, 1000L) == 0) 0 else 1)
}
