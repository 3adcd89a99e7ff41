package io.joinless.spark.spec

/** How rows of an input are inserted and deleted.
  *
  * @param name stands in checkpoints
  * @param retractable rows have an identity and carry weights, and the log holds their
  *   multiplicities
  * @param signed rows are changes with a sign, none of which is ever late
  * @param expires rows are deleted when the watermark reaches the end of their lifetime
  */
sealed abstract class InputKind(val name: String, val retractable: Boolean, val signed: Boolean, val expires: Boolean) {

  /** Rows can be deleted. */
  def leaves: Boolean = signed || expires
}

object InputKind {

  /** Rows are only inserted; equal ones are separate rows. */
  case object Appended extends InputKind("appended", retractable = false, signed = false, expires = false)

  /** Signed changes insert and delete rows. */
  case object Changelog extends InputKind("changelog", retractable = true, signed = true, expires = false)

  /** Rows are only inserted; equal ones are one row with a multiplicity. */
  case object Counted extends InputKind("counted", retractable = true, signed = false, expires = false)

  /** Rows are only inserted by the stream, and are deleted at the end of their lifetime. */
  case object Expiring extends InputKind("expiring", retractable = true, signed = false, expires = true)

  /** Signed changes insert and delete rows; the remaining copies of a row are deleted at the end of
    * its lifetime.
    */
  case object ExpiringChangelog
      extends InputKind("expiring changelog", retractable = true, signed = true, expires = true)

  val all: Seq[InputKind] = Seq(Appended, Changelog, Counted, Expiring, ExpiringChangelog)
}
