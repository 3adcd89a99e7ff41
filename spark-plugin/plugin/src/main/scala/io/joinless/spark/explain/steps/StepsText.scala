package io.joinless.spark.explain.steps

/** The steps of a query as an indented text. A change of a table goes up from its leaf; each step
  * says what it stores, and what a change that reaches it costs.
  * {{{
  * Result: src, n
  * +- [2] GROUP BY src: count(*)
  *    |  stores: one row per group
  *    |  cost: one read and one write per group
  *    +- [1] Join (equal results are counted)
  * }}}
  * A cost that can grow with what is stored for a key or a group has a `!`, one that can grow with
  * all stored rows has `!!`.
  */
private[spark] object StepsText {

  def apply(step: Step): String = lines(step, "", "").mkString("\n")

  /** @param first what stands before the first line
    * @param rest what stands before all others
    */
  private def lines(step: Step, first: String, rest: String): Seq[String] = {
    val number = step.number.fold("")(n => s"[$n] ")
    val more = step.details ++ step.stores.map(s => s"stores: $s") ++ step.cost.map(c => s"${step.reach.mark}cost: $c")
    val bar = if (step.inputs.isEmpty) "   " else "|  "
    val children = step.inputs.zipWithIndex.flatMap { case (input, i) =>
      lines(input, s"$rest+- ", rest + (if (i == step.inputs.size - 1) "   " else "|  "))
    }
    (s"$first$number${step.title}" +: more.map(line => s"$rest$bar$line")) ++ children
  }
}
