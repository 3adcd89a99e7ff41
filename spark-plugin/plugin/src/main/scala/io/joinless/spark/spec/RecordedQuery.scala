package io.joinless.spark.spec

/** What a checkpoint records about its query. */
final case class RecordedQuery(blocks: Seq[BlockShape], groups: Seq[GroupShape] = Nil) {

  /** The order of columns in each compiled part of the query that reads the same sources; in every
    * part where none does.
    *
    * @param places the locations of the sources
    */
  def orders(places: Set[String]): Seq[IndexedSeq[IndexedSeq[String]]] = {
    val read = blocks.map(block => block.order -> block.origins.toSeq.flatten) ++
      groups.map(g => g.order -> g.origin.toSeq)
    val placesOf = read.groupMapReduce(_._1)(_._2.flatMap(_.places).toSet)(_ ++ _)
    RecordedQuery.likely(read.map(_._1).filter(_.nonEmpty).distinct)(placesOf(_) == places)
  }
}

object RecordedQuery {

  /** Those of several records for which something holds; all where it holds for none. */
  def likely[A](records: Seq[A])(holds: A => Boolean): Seq[A] = {
    val found = records.filter(holds)
    if (found.isEmpty) records else found
  }
}
