package io.joinless.spark.spec

/** How rows of an input come and go.
  *
  * @param name stands in checkpoints
  * @param retractable rows can leave: they have an identity, weights travel with them, and the log holds how often each is there
  */
sealed abstract class InputKind(val name: String, val retractable: Boolean)

object InputKind {

  /** Rows only come; equal ones are separate rows. */
  case object Appended extends InputKind("appended", retractable = false)

  /** Signed changes tell which rows come and which go. */
  case object Changelog extends InputKind("changelog", retractable = true)

  val all: Seq[InputKind] = Seq(Appended, Changelog)
}
