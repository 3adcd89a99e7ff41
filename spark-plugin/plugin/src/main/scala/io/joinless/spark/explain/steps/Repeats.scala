package io.joinless.spark.explain.steps

/** Steps that a query has twice, such as those of a subquery that is used twice: each is computed
  * and stored by itself, and the later ones name the first.
  */
private[steps] object Repeats {

  /** The tree, in which each later one of equal steps says of which it is a repetition and has no
    * steps below it. Steps are equal that differ in numbers and names of columns only. Tables are
    * left as they are.
    */
  def marked(step: Step): Step = {
    val first =
      step.all.filter(s => s.number.isDefined && s.inputs.nonEmpty).groupMapReduce(plain)(_.number.get)(_ min _)
    replaced(step, first)
  }

  private def replaced(step: Step, first: Map[Step, Int]): Step =
    step.number.flatMap(n => first.get(plain(step)).filter(_ < n)) match {
      case Some(same) =>
        val below = step.all.filter(_.isTable).maxBy(_.reach)
        val cost = step.cost.toSeq ++ below.cost.filter(_ => below.reach == Step.All)
        step.copy(
          details = Seq(s"as [$same], once more"),
          cost = Some(cost.mkString("; ")),
          reach = Seq(step.reach, below.reach).max,
          inputs = Nil,
          reachFrom = Nil
        )
      case None => step.copy(inputs = step.inputs.map(replaced(_, first)))
    }

  /** The step without numbers and names of columns, also in its texts. */
  private def plain(step: Step): Step = {
    def text(s: String) = s.replaceAll("\\[\\d+\\]", "[]").replaceAll(" AS [A-Za-z_0-9]+", "")
    step.copy(
      title = text(step.title),
      details = step.details.map(text),
      cost = if (step.isTable) None else step.cost.map(text),
      reach = if (step.isTable) Step.Change else step.reach,
      inputs = step.inputs.map(plain),
      number = step.number.map(_ => 0)
    )
  }
}
