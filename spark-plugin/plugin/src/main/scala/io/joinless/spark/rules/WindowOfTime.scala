package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions._

/** One of Spark's windows over a column of time, as the arithmetic that Spark puts in its place: of how many microseconds. Where an optimizer moves
  * it, that it is a window does not show otherwise.
  */
private[rules] object WindowOfTime {

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

  private object End {
    def unapply(end: Expression): Option[(Expression, Long)] = end match {
      case PreciseTimestampConversion(Add(start, Literal(size: Long, _), _), _, _) => Some((start, size))
      case _ => None
    }
  }
}
