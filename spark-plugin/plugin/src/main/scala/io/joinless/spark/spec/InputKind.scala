package io.joinless.spark.spec

/** How rows of an input come and go.
  *
  * @param name stands in checkpoints
  * @param retractable rows have an identity, weights travel with them, and the log holds how often each is there
  * @param signed rows are changes with a sign, of which none is ever late
  * @param expires rows go when the watermark reaches the end of their lifetime
  */
sealed abstract class InputKind(val name: String, val retractable: Boolean, val signed: Boolean, val expires: Boolean) {

  /** Rows can leave. */
  def leaves: Boolean = signed || expires
}

object InputKind {

  /** Rows only come; equal ones are separate rows. */
  case object Appended extends InputKind("appended", retractable = false, signed = false, expires = false)

  /** Signed changes tell which rows come and which go. */
  case object Changelog extends InputKind("changelog", retractable = true, signed = true, expires = false)

  /** Rows only come; equal ones are one row, and counted. */
  case object Counted extends InputKind("counted", retractable = true, signed = false, expires = false)

  /** Rows come by themselves, and go at the end of their lifetime. */
  case object Expiring extends InputKind("expiring", retractable = true, signed = false, expires = true)

  /** Signed changes tell which rows come and which go; what is left of a row goes at the end of its lifetime. */
  case object ExpiringChangelog
      extends InputKind("expiring changelog", retractable = true, signed = true, expires = true)

  val all: Seq[InputKind] = Seq(Appended, Changelog, Counted, Expiring, ExpiringChangelog)
}
