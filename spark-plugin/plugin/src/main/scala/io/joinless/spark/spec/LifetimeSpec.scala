package io.joinless.spark.spec

import io.joinless.spark.spec.JsonFields._
import io.joinless.spark.spec.JsonValues.array
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.types.{DataType, StructType, TimestampType}
import org.json4s.JsonAST._

/** A row is needed until the watermark has reached each of these times. A row in which one of the
  * columns is NULL joins nothing; where rows are of several kinds (those of a union), it is of
  * another kind.
  *
  * @param others the times of the other kinds
  */
final case class LifetimeSpec(
    until: IndexedSeq[TimeSpec],
    others: IndexedSeq[IndexedSeq[TimeSpec]] = IndexedSeq.empty
) {

  def kinds: IndexedSeq[IndexedSeq[TimeSpec]] = until +: others

  def times: IndexedSeq[TimeSpec] = kinds.flatten

  /** Whether rows that are kept for a lifetime include those that this one needs: kind by kind, each
    * time of this one is there too, and passes no earlier.
    */
  private def isWithin(kept: LifetimeSpec): Boolean =
    kinds.size == kept.kinds.size && kinds.zip(kept.kinds).forall { case (is, was) =>
      is.forall(time => was.exists(k => k.ordinal == time.ordinal && k.after >= time.after))
    }
}

/** A lifetime as a part of its relation: in the record, in the check of the record, and in the
  * comparison at a restart.
  */
object LifetimeSpec {

  /** Fields of the relation. */
  def write(lifetime: LifetimeSpec): List[JField] =
    List("until" -> array(lifetime.until)(TimeSpec.toJson)) ++
      Option.when(lifetime.others.nonEmpty)("orUntil" -> array(lifetime.others)(kind =>
        JObject("until" -> array(kind)(TimeSpec.toJson))
      ))

  def read(relation: JValue): Option[LifetimeSpec] = optional(relation, "until").map { _ =>
    LifetimeSpec(
      list(relation, "until").map(TimeSpec.fromJson),
      optional(relation, "orUntil").fold(IndexedSeq.empty[IndexedSeq[TimeSpec]])(_ =>
        list(relation, "orUntil").map(kind => list(kind, "until").map(TimeSpec.fromJson))
      )
    )
  }

  def columns(lifetime: LifetimeSpec): Int = lifetime.times.size + lifetime.others.size

  /** Why rows of an input cannot have this lifetime.
    *
    * @param retractable whether the block's rows have an identity
    */
  def problem(lifetime: Option[LifetimeSpec], input: InputSpec, retractable: Boolean): Option[String] =
    if (
      !lifetime.toSeq.flatMap(_.times).forall(t =>
        input.columns.lift(t.ordinal).exists(c => TimeSpec.isTime(c.dataType))
      )
    )
      Some("a relation's rows are needed until a time that is not there")
    else if (retractable && input.kind.expires != lifetime.isDefined)
      Some("rows that expire have no time, or others have one")
    else None

  /** Why the rows of a relation that are stored are not those that the query needs. Rows that it
    * needs may have been evicted. Rows that it needs no longer may stay, unless they expire: rows
    * are stored, or were deleted, by the recorded time.
    *
    * @param name of the relation
    */
  def difference(
      was: Option[LifetimeSpec],
      is: Option[LifetimeSpec],
      expires: Boolean,
      name: String
  ): Option[String] =
    if (expires) Option.when(was != is)(s"Rows of $name expired after another time, or by another column.")
    else
      Option.when(was.exists(kept => !is.exists(_.isWithin(kept))))(
        s"It forgets rows of $name that the query may still need: the bounds in time are wider now, or there is no watermark, or another time zone, or changes are requested, which need all rows."
      )
}

/** A time this many microseconds after that of a stored column: a TIMESTAMP, or a window, which
  * stands for its end.
  */
final case class TimeSpec(ordinal: Int, after: Long)

object TimeSpec {

  def toJson(time: TimeSpec): JValue = JObject("column" -> JInt(time.ordinal), "after" -> JInt(time.after))

  def fromJson(json: JValue): TimeSpec = TimeSpec(int(json, "column"), long(json, "after"))

  def isTime(dataType: DataType): Boolean = dataType == TimestampType || isWindow(dataType)

  /** The name of a column's time: for a window that of its end. */
  def nameOf(column: Attribute): String = if (isWindow(column.dataType)) s"${column.name}.end" else column.name

  /** Whether this is the type of Spark's time windows. */
  def isWindow(dataType: DataType): Boolean = dataType match {
    case StructType(Array(start, end)) =>
      start.name == "start" && end.name == "end" && start.dataType == TimestampType && end.dataType == TimestampType
    case _ => false
  }
}
