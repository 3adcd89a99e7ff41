package io.joinless.spark.explain.steps

/** An operator of a query as users see it: what it does, what it stores, and what a change costs
  * there; with all below it.
  *
  * @param number of a step that stores something: those below it have smaller ones; None for others
  * @param title what it does
  * @param details conditions and columns, each a line
  * @param stores what it stores
  * @param cost of a change that reaches it, which may be one of a table far below
  * @param reach what such a change can make it read
  * @param reachFrom for each input, what a change that comes from there can make it read; empty
  *   where that is the same for all
  * @param role of the step in the one above it
  */
final private[spark] case class Step(
    title: String,
    details: Seq[String] = Nil,
    stores: Option[String] = None,
    cost: Option[String] = None,
    reach: Step.Reach = Step.Change,
    inputs: Seq[Step] = Nil,
    number: Option[Int] = None,
    reachFrom: Seq[Step.Reach] = Nil,
    role: Step.Role = Step.Rows
) {

  /** With conditions on its rows.
    *
    * @param word WHERE or HAVING
    */
  private[steps] def onlyIf(word: String, conditions: Seq[String]): Step =
    copy(details = details ++ conditions.zipWithIndex.map { case (c, i) => s"${if (i == 0) word else "and"} $c" })

  /** Whether it is a table or a stream, and no operator. */
  def isTable: Boolean = inputs.isEmpty && number.isEmpty

  /** This step and all below it, from the top. */
  def all: Seq[Step] = this +: inputs.flatMap(_.all)

  /** The tables have the reach of the step above them that can read most for a change of theirs;
    * where that is all of an input, their cost names it.
    */
  private[steps] def withCostliest: Step = costliest(None)

  /** @param above the costliest step for changes that come from here, and what they make it read */
  private def costliest(above: Option[(Int, Step.Reach)]): Step =
    if (inputs.isEmpty) above.filter(found => Step.Reach.ordering.gt(found._2, reach)).fold(this) { case (step, most) =>
      val named = Option.when(most == Step.All)(s"costliest in [$step]")
      copy(cost = Option.when(cost.isDefined || named.isDefined)((cost ++ named).mkString("; ")), reach = most)
    }
    else copy(inputs = inputs.zipWithIndex.map { case (input, i) =>
      val own = number.map(_ -> reachFrom.lift(i).getOrElse(reach))
      input.costliest((own ++ above).maxByOption(_._2))
    })
}

private[spark] object Step {

  /** A table of which nothing is known. */
  val Table: Step = Step("table")

  /** What a change can make a step read: a part of its state that does not depend on how much is
    * stored, what is stored of a key or group, or all of an input.
    */
  sealed abstract class Reach(val name: String)
  case object Change extends Reach("change")
  case object Group extends Reach("group")
  case object All extends Reach("all")

  object Reach {
    implicit val ordering: Ordering[Reach] = Ordering.by(Seq(Change, Group, All).indexOf(_))
  }

  /** What a step gives the one above it. */
  sealed trait Role

  /** Rows of the query. */
  case object Rows extends Role

  /** One row at most. */
  case object OneRow extends Role

  /** Whether rows of a join have a match: the query itself has no such groups. */
  case object Matches extends Role

  /** The rows of a side of an outer join, or NULLs where there is no match. */
  case object Padded extends Role
}
