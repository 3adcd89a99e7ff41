package io.joinless.spark.spec

/** What a checkpoint records about its query. */
final case class RecordedQuery(blocks: Seq[BlockShape], groups: Seq[GroupShape] = Nil) {

  /** The order of columns in each compiled part of the query. */
  def orders: Seq[IndexedSeq[IndexedSeq[String]]] =
    (blocks.map(_.order) ++ groups.map(_.order)).filter(_.nonEmpty).distinct
}
