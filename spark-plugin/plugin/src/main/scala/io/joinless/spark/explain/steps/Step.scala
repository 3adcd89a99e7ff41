package io.joinless.spark.explain.steps

/** An operator of a query as users see it: what it does, what it stores, and what a change costs
  * there; with all below it.
  *
  * @param number of a step that stores something: those below it have smaller ones; None for others
  * @param title what it does
  * @param details conditions, each a line
  * @param stores what it stores
  * @param cost of a change that reaches it, which may be one of a table far below
  * @param reach what such a change can make it read
  */
final private[spark] case class Step(
    title: String,
    details: Seq[String] = Nil,
    stores: Option[String] = None,
    cost: Option[String] = None,
    reach: Step.Reach = Step.Change,
    inputs: Seq[Step] = Nil,
    number: Option[Int] = None,
    isMade: Boolean = false,
    isOneRow: Boolean = false,
    reachFrom: Seq[Step.Reach] = Nil
) {

  /** With a condition on its rows.
    *
    * @param word WHERE or HAVING
    */
  private[steps] def onlyIf(word: String, conditions: Seq[String]): Step =
    if (conditions.isEmpty) this else copy(details = details :+ s"$word ${conditions.mkString(" AND ")}")

  /** Whether it is a table or a stream, and no operator. */
  def isTable: Boolean = inputs.isEmpty && cost.isEmpty

  /** The tables say which step above them makes a change of theirs dearest, if one does. */
  private[steps] def withDearest: Step = dearest(None)

  /** @param above the dearest step for changes that come from here, and what they make it read */
  private def dearest(above: Option[(Int, Step.Reach)]): Step =
    if (inputs.isEmpty) above.fold(this) { case (step, reach) =>
      copy(cost = Some(s"dearest in [$step]"), reach = reach)
    }
    else copy(inputs = inputs.zipWithIndex.map { case (input, i) =>
      val own = number.map(_ -> reachFrom.lift(i).getOrElse(reach)).filter(_._2 != Step.Change)
      input.dearest((own ++ above).maxByOption(_._2))
    })

  /** This step and all below it, from the top. */
  def all: Seq[Step] = this +: inputs.flatMap(_.all)
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
}
