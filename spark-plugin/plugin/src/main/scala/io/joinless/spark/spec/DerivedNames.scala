package io.joinless.spark.spec

/** The names of relations that a query itself derives. Checkpoints record them, so they must not
  * change. A relation of the user's may have one of them, too.
  */
object DerivedNames {

  /** First rows, and rows of windows. */
  val Rows = "rows"

  /** Literals below joins. */
  val Literals = "literals"

  /** Keys, each with whether it has a match. */
  val Matches = "partners"

  /** An aggregate of all rows. */
  val Total = "total"

  /** The groups of a GROUP BY. */
  val Groups = "groups"

  private val All = Seq(Rows, Literals, Matches, Total, Groups).mkString("(", "|", ")(_\\d+)?").r

  /** Whether a relation of a block has such a name, with a number where several have it. */
  def is(name: String): Boolean = All.matches(name)
}
