package io.joinless.spark.spec

/** Names, in a sentence, the filter or expression that has changed since inserts were stored, so
  * that deletes would not find their rows.
  */
object MeaningComparison {

  /** @param names of the relations, as the query has them */
  def apply(was: MeaningSpec, is: MeaningSpec, names: Seq[String]): Option[String] =
    names.indices.iterator.flatMap { i =>
      for (before <- was.rows(i); now <- is.rows(i); what <- rows(before, now, names(i))) yield what
    }.nextOption()
      .orElse(parts(was.conditions, is.conditions).map { case (before, now) =>
        s"Its results were filtered by $before, and the query filters them by $now (${relations(names)}): it would report " +
          "deletes of rows that it never reported as inserted."
      })
      .orElse(places(was.values, is.values).orElse(emitted(was.emitted, is.emitted)).map { case (before, now) =>
        s"Its results were the columns $before, and the query's are $now (${relations(names)}): it would report deletes of " +
          "rows that it never reported as inserted."
      })
      .orElse(zones(was.zone, is.zone))

  /** The columns that operators above emit and that differ at the same position; earlier releases
    * did not record them.
    */
  def emitted(was: Option[IndexedSeq[String]], is: Option[IndexedSeq[String]]): Option[(String, String)] =
    for (before <- was; now <- is; different <- places(before, now)) yield different

  /** Earlier releases did not record the time zone. */
  def zones(was: Option[String], is: Option[String]): Option[String] =
    for (before <- was; now <- is; if before != now)
      yield s"It was begun in the time zone $before, and the query has values in the time zone $now: rows would not be deleted as they " +
        "were inserted. Set spark.sql.session.timeZone as it was."

  private def rows(was: RowsSpec, is: RowsSpec, name: String): Option[String] =
    parts(was.filters, is.filters).map { case (before, now) =>
      s"The changelog $name was filtered by $before, and the query filters it by $now: a delete would not find the row that its " +
        "insert stored."
    }.orElse(places(was.values, is.values).map { case (before, now) =>
      s"The changelog $name was stored as $before, and the query reads it as $now: a delete would not find the row that its " +
        "insert stored."
    })

  private def relations(names: Seq[String]): String =
    names.zipWithIndex.map { case (name, i) => s"r${i + 1} is $name" }.mkString(", ")

  /** The parts of a conjunction that only one of the two has. */
  private def parts(was: Seq[String], is: Seq[String]): Option[(String, String)] =
    Option.when(was != is)((listed(was.diff(is)), listed(is.diff(was))))

  /** The columns that differ at the same position. */
  private def places(was: Seq[String], is: Seq[String]): Option[(String, String)] = {
    val (before, now) = was.zipAll(is, "nothing", "nothing").filter { case (w, i) => w != i }.unzip
    Option.when(before.nonEmpty)((listed(before), listed(now)))
  }

  private def listed(texts: Seq[String]): String = if (texts.isEmpty) "nothing" else texts.mkString(" and ")
}
