package io.joinless.spark.plans.reasons

/** Distances in time as people read them. */
private[spark] object TimeText {

  private val units = Seq("day" -> 86400000000L, "hour" -> 3600000000L, "minute" -> 60000000L)

  /** `+ 1 hour 30 minutes`, preceded by a space; empty for 0. */
  def beyond(micros: Long): String =
    if (micros == 0) "" else if (micros > 0) s" + ${of(BigInt(micros))}" else s" - ${of(-BigInt(micros))}"

  /** `1 hour 30 minutes`; empty for 0. */
  def of(micros: BigInt): String = {
    val (rest, parts) = units.foldLeft((micros, Seq.empty[String])) { case ((left, soFar), (name, size)) =>
      val n = left / size
      (left % size, if (n == 0) soFar else soFar :+ s"$n $name${if (n == 1) "" else "s"}")
    }
    val seconds = (BigDecimal(rest) / 1000000).bigDecimal.stripTrailingZeros.toPlainString
    (if (rest == 0) parts else parts :+ s"$seconds second${if (rest == 1000000) "" else "s"}").mkString(" ")
  }
}
