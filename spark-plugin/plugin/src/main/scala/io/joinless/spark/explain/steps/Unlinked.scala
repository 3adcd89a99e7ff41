package io.joinless.spark.explain.steps

/** What a change costs in a join of which nothing but a condition on each result links some parts:
  * it meets all rows of the other parts. That is cheap only where these have one row each.
  *
  * @param parts sets of relations; none where all relations are linked
  * @param called a relation for people
  * @param isOneRow a relation has one row at most
  */
final private[steps] class Unlinked(parts: Seq[Seq[Int]], called: Int => String, isOneRow: Int => Boolean) {

  /** The parts of which a change meets many rows, each with the other parts that have them. */
  private val dear: Seq[(Seq[Int], Seq[Seq[Int]])] = parts.indices.flatMap { i =>
    val others = parts.patch(i, Nil, 1).filterNot(_.forall(isOneRow))
    Option.when(others.nonEmpty)(parts(i) -> others)
  }

  /** Whether a change of the relation meets all rows of others. */
  def meetsAll(relation: Int): Boolean = dear.exists(_._1.contains(relation))

  /** None if a change meets a row of each other part at most. */
  def cost: Option[String] = Option.when(dear.nonEmpty) {
    dear.map { case (part, others) =>
      val all = if (others.size == 1) "every row of" else "all combinations of rows of"
      s"a change of ${names(part)} meets $all ${others.map(names).mkString(" with ")}"
    }.mkString("; ")
  }

  private def names(relations: Seq[Int]): String = relations.map(called) match {
    case Seq(one) => one
    case several => several.init.mkString(", ") + " and " + several.last
  }
}
