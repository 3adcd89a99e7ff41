package io.joinless.spark.rules.time

import org.apache.spark.sql.catalyst.expressions._

/** One of Spark's windows over a time column, recognized by the arithmetic that Spark replaces it
  * with, and its length in microseconds. Where an optimizer moves it, no other sign says that it is
  * a window.
  */
private[rules] object WindowOfTime {

  /** The time and the length of a window in microseconds, if the expression computes one. */
  def unapply(value: Expression): Option[(Attribute, Long)] = value match {
    case CreateNamedStruct(Seq(
          _,
          KnownNullable(PreciseTimestampConversion(start, _, _)),
          _,
          KnownNullable(End(begin, size))
        ))
        if begin.semanticEquals(start) =>
      start.collect { case time: Attribute => time }.distinct match {
        case Seq(time) => Some((time, size))
        case _ => None
      }
    case _ => None
  }

  /** The end of a window: its start, and its length in microseconds. */
  private object End {
    def unapply(end: Expression): Option[(Expression, Long)] = end match {
      case PreciseTimestampConversion(Add(start, Literal(size: Long, _), _), _, _) => Some((start, size))
      case _ => None
    }
  }
}
