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
    * where that is all of an input, their cost names it, and the cost of this step names them.
    */
  private[steps] def withCostliest: Step = {
    val found = costliest(None)
    val dear = found.all.filter(step => step.isTable && step.reach == Step.All)
    val most = dear.groupMap(_.cost.get)(_.title).toSeq.map { case (cost, tables) =>
      s"$cost, by a change of ${tables.distinct.mkString(", ")}"
    }
    val none = "no change reads all stored rows"
    found.copy(cost = Some(if (most.isEmpty) none else most.sorted.mkString("; ")), reach = found.all.map(_.reach).max)
  }

  /** @param above the costliest step for changes that come from here, and what they make it read */
  private def costliest(above: Option[(Int, Step.Reach)]): Step =
    if (inputs.isEmpty) above.fold(this) { case (step, reach) =>
      copy(cost = Option.when(reach == Step.All)(s"costliest in [$step]"), reach = reach)
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
  sealed abstract class Reach(val name: String, val mark: String)
  case object Change extends Reach("change", "")
  case object Group extends Reach("group", "! ")
  case object All extends Reach("all", "!! ")

  object Reach {
    implicit val ordering: Ordering[Reach] = Ordering.by(Seq(Change, Group, All).indexOf(_))
  }

  /** What a step gives the one above it. */
  sealed trait Role

  /** Rows of the query. */
  case object Rows extends Role

  /** Rows of the query, all those of several inputs. */
  case object Union extends Role

  /** One row at most. */
  case object OneRow extends Role

  /** Whether rows of a join have a match: the query itself has no such groups. */
  case object Matches extends Role

  /** The rows of a side of an outer join, or NULLs where there is no match. */
  case object Padded extends Role
}
