package io.joinless.spark.spec

/** How rows of an input come and go.
  *
  * @param name stands in checkpoints
  * @param retractable rows have an identity, weights travel with them, and the log holds how often each is there
  * @param leaves rows can leave
  */
sealed abstract class InputKind(val name: String, val retractable: Boolean, val leaves: Boolean)

object InputKind {

  /** Rows only come; equal ones are separate rows. */
  case object Appended extends InputKind("appended", retractable = false, leaves = false)

  /** Signed changes tell which rows come and which go. */
  case object Changelog extends InputKind("changelog", retractable = true, leaves = true)

  /** Rows only come; equal ones are one row, and counted. */
  case object Counted extends InputKind("counted", retractable = true, leaves = false)

  /** Rows come by themselves, and go when the watermark reaches the end of their lifetime. */
  case object Expiring extends InputKind("expiring", retractable = true, leaves = true)

  val all: Seq[InputKind] = Seq(Appended, Changelog, Counted, Expiring)
}
