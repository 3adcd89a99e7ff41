package io.joinless.spark.plans.reasons

/** Spark's time windows as people write them. Spark turns `window(ts, '10 seconds')` into the
  * arithmetic of a start and an end, which is what texts of expressions contain.
  */
private[spark] object WindowTexts {
  private val Begin = "named_struct('start', knownnullable(precisetimestampconversion("
  private val Bound = "knownnullable(precisetimestampconversion("
  private val Time = "precisetimestampconversion\\(([^()]+)\\)".r
  private val Size = "\\+ (\\d+)L\\)*$".r.unanchored

  /** The text with `window(ts, 10 seconds)` in place of such arithmetic. For people; recorded texts
    * have the arithmetic.
    */
  def short(text: String): String = replaced(text, Begin, "named_struct".length)(identity)
    .orElse(replaced(text, Bound, "knownnullable".length)(window => s"a bound of $window"))
    .getOrElse(text)

  /** The text in which the first window that begins with `begins` is replaced by its name, and the
    * rest likewise. Where the window is a whole name in quotes, the quotes are replaced, too.
    */
  private def replaced(text: String, begins: String, bracket: Int)(called: String => String): Option[String] = {
    val begin = text.indexOf(begins)
    val end = if (begin < 0) -1 else closing(text, begin + bracket)
    Option.when(end >= 0) {
      val window = text.substring(begin, end)
      val size = Size.findFirstMatchIn(window).map(m => s", ${TimeText.of(BigInt(m.group(1)))}").getOrElse("")
      val name = Time.findFirstMatchIn(window).fold("window")(m => s"window(${m.group(1)}$size)")
      val (before, after) = (text.substring(0, begin), text.substring(end))
      val quoted = before.endsWith("`") && after.startsWith("`")
      (if (quoted) before.init else before) + called(name) + short(if (quoted) after.tail else after)
    }
  }

  /** The position after the bracket that closes the one at `open`; −1 where none does. */
  def closing(text: String, open: Int): Int = {
    val depth = text.substring(open).scanLeft(0)((d, c) => if (c == '(') d + 1 else if (c == ')') d - 1 else d)
    val at = depth.indexOf(0, 1)
    if (at < 0) -1 else open + at
  }
}
