package io.joinless.spark.spec

/** What a delete would not meet as its insert did, in a sentence. */
object MeaningComparison {

  /** @param names of the relations, as the query has them */
  def apply(was: MeaningSpec, is: MeaningSpec, names: Seq[String]): Option[String] =
    names.indices.iterator.flatMap { i =>
      for (before <- was.rows(i); now <- is.rows(i); what <- rows(before, now, names(i))) yield what
    }.nextOption()
      .orElse(results("its results have the conditions", "told", was.conditions, is.conditions, names))
      .orElse(results("its results have the columns", "told so", was.values, is.values, names))

  private def rows(was: RowsSpec, is: RowsSpec, name: String): Option[String] =
    differ(was.filters, is.filters).map { case (before, now) =>
      s"The changelog $name was filtered by $before, and the query filters it by $now: a delete would not find the row that its " +
        "insert stored."
    }.orElse(differ(was.values, is.values).map { case (before, now) =>
      s"The changelog $name was stored as $before, and the query reads it as $now: a delete would not find the row that its " +
        "insert stored."
    })

  private def results(
      have: String,
      told: String,
      was: Seq[String],
      is: Seq[String],
      names: Seq[String]
  ): Option[String] = differ(was, is).map { case (before, now) =>
    val relations = names.zipWithIndex.map { case (name, i) => s"r${i + 1} is $name" }.mkString(", ")
    s"Of its filters and expressions, $have $before, and the query's $now ($relations): a delete would be told of rows that were " +
      s"never $told."
  }

  /** The parts that only one side has. */
  private def differ(was: Seq[String], is: Seq[String]): Option[(String, String)] =
    Option.when(was != is)((listed(was.diff(is)), listed(is.diff(was))))

  private def listed(texts: Seq[String]): String = if (texts.isEmpty) "nothing" else texts.mkString(" and ")
}
