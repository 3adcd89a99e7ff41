package io.joinless.spark.rules.time

import java.time.ZoneId

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.joinless.spark.spec.TimeSpec
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_SECOND}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.CalendarInterval

/** An expression as a time column, and how far from it the expression can be:
  * `column + least <= value <= column + most`.
  *
  * {{{
  * a.ts + INTERVAL '1' HOUR         a.ts, 1 hour, 1 hour
  * a.ts + INTERVAL '1' DAY          a.ts, 23 hours, 25 hours      where clocks are set by an hour
  * CAST(a.ts AS BIGINT) + 60        a.ts, 59.000001 s, 60 s       whole seconds
  * }}}
  *
  * @param column a TIMESTAMP, or a window, which stands for its end
  * @param least microseconds, as is `most`
  * @param step between neighbouring values of the expression: a value below another one is below it
  *   by at least that much
  */
final private[rules] case class TimeTerm(column: Attribute, least: Long, most: Long, step: Long) {

  /** The term moved by a distance; an overflow throws. */
  def shifted(by: Distance): TimeTerm =
    copy(least = Math.addExact(least, by.least), most = Math.addExact(most, by.most))
}

/** How far apart two times are, in microseconds: at least, and at most. */
final private[rules] case class Distance(least: Long, most: Long) {
  def negated: Distance = Distance(Math.negateExact(most), Math.negateExact(least))
}

private[rules] object TimeTerm {

  /** The expression as a time column at a distance; None where it is none, or its distance is not
    * known.
    */
  def of(expression: Expression): Option[TimeTerm] = expression match {
    case column: Attribute if column.dataType == TimestampType => Some(TimeTerm(column, 0L, 0L, step = 1L))
    case GetStructField(window: Attribute, 1, _) if isWindow(window) => Some(TimeTerm(window, 0L, 0L, step = 1L))
    case TimestampAddInterval(start, interval, zone) => moved(of(start), distance(interval, zone))
    case TimestampAddYMInterval(start, interval, zone) => moved(of(start), distance(interval, zone))
    case Cast(time, LongType, _, _) if time.dataType == TimestampType =>
      of(time).map(t => t.shifted(Distance(1L - MICROS_PER_SECOND, 0L)).copy(step = MICROS_PER_SECOND))
    case Add(seconds, number, _) if seconds.dataType == LongType => moved(of(seconds), wholeSeconds(number))
    case Add(number, seconds, _) if seconds.dataType == LongType => moved(of(seconds), wholeSeconds(number))
    case Subtract(seconds, number, _) if seconds.dataType == LongType =>
      moved(of(seconds), wholeSeconds(number).map(_.negated))
    case _ => None
  }

  /** The term that is equal where two values are: the values themselves, or the ends of windows. */
  def ofEqual(expression: Expression): Option[TimeTerm] = expression match {
    case window: Attribute if isWindow(window) => Some(TimeTerm(window, 0L, 0L, step = 1L))
    case WindowOfTime(time, size) if time.dataType == TimestampType => Some(TimeTerm(time, 0L, size, step = 1L))
    case other => of(other)
  }

  private def isWindow(column: Attribute): Boolean = TimeSpec.isWindow(column.dataType)

  /** How far a constant interval moves a time. */
  def distance(interval: Expression, zone: Option[String]): Option[Distance] =
    constant(interval).flatMap { value =>
      (value, interval.dataType) match {
        case (micros: Long, _: DayTimeIntervalType) => Some(inDays(micros, micros / MICROS_PER_DAY != 0, zone))
        case (months: Int, _: YearMonthIntervalType) => Some(inMonths(months, zone))
        case (interval: CalendarInterval, CalendarIntervalType) =>
          val micros = Math.addExact(Math.multiplyExact(interval.days.toLong, MICROS_PER_DAY), interval.microseconds)
          val rest = inDays(micros, interval.days != 0, zone)
          if (interval.months == 0) Some(rest)
          else {
            val months = inMonths(interval.months, zone)
            Some(Distance(Math.addExact(months.least, rest.least), Math.addExact(months.most, rest.most)))
          }
        case _ => None
      }
    }

  /** How far apart two times are whose difference is a constant interval: the difference is one of
    * clock times, however large it is.
    */
  def difference(interval: Expression, zone: Option[String]): Option[Distance] =
    constant(interval).flatMap { value =>
      (value, interval.dataType) match {
        case (micros: Long, _: DayTimeIntervalType) => Some(inDays(micros, wholeDays = true, zone))
        case _ => None
      }
    }

  /** A constant number of seconds as a distance. */
  private def wholeSeconds(number: Expression): Option[Distance] =
    constant(number).flatMap { value =>
      (value, number.dataType) match {
        case (n: Number, ByteType | ShortType | IntegerType | LongType) =>
          val micros = Math.multiplyExact(n.longValue, MICROS_PER_SECOND)
          Some(Distance(micros, micros))
        case _ => None
      }
    }

  /** The value of a constant; None where it is NULL or fails. Then it bounds nothing: a row that
    * reaches it fails in its batch, as in Spark. (Spark's optimizer folds most constants, and fails
    * itself; not those in a branch, nor those that stand in one part of a union only.)
    */
  private def constant(e: Expression): Option[Any] =
    if (!e.foldable) None
    else
      try Option(e.eval())
      catch { case NonFatal(_) => None }

  /** The term moved by a distance; None where either is not known. */
  private def moved(term: Option[TimeTerm], by: Option[Distance]): Option[TimeTerm] =
    for (t <- term; distance <- by) yield t.shifted(distance)

  /** Days are calendar days, so a clock that is set in between makes them longer or shorter. */
  private def inDays(micros: Long, wholeDays: Boolean, zone: Option[String]): Distance = {
    val slack = if (wholeDays) clockMoves(zone) else 0L
    Distance(Math.subtractExact(micros, slack), Math.addExact(micros, slack))
  }

  /** A month has 28 to 31 days, and a clock may be set in between. Of a negative number of months
    * 31 days each are the least distance.
    */
  private def inMonths(months: Int, zone: Option[String]): Distance = {
    val slack = clockMoves(zone)
    val (short, long) =
      (Math.multiplyExact(months.toLong, 28 * MICROS_PER_DAY), Math.multiplyExact(months.toLong, 31 * MICROS_PER_DAY))
    Distance(Math.subtractExact(math.min(short, long), slack), Math.addExact(math.max(short, long), slack))
  }

  /** The largest difference there has ever been between the zone's offsets, in microseconds. */
  private def clockMoves(zone: Option[String]): Long = {
    val rules = ZoneId.of(zone.getOrElse("UTC"), ZoneId.SHORT_IDS).getRules
    val changes = rules.getTransitions.asScala.flatMap(t => Seq(t.getOffsetBefore, t.getOffsetAfter)) ++
      rules.getTransitionRules.asScala.flatMap(r => Seq(r.getOffsetBefore, r.getOffsetAfter))
    val seconds = changes.map(_.getTotalSeconds)
    if (seconds.isEmpty) 0L else (seconds.max - seconds.min) * MICROS_PER_SECOND
  }
}
