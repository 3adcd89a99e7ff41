package io.joinless.spark.checkpoint

import io.joinless.spark.spec.{BlockShape, NodeId}

/** Compares the join blocks of a plan, by their ids, with those that were decided before: there may
  * be no more and no fewer. [[io.joinless.spark.spec.SpecComparison]] compares the contents of
  * blocks.
  *
  * While the first batch is not done, a stop may have left the metadata of some operators only:
  * existing metadata is in force, and the rest is written by the next attempt.
  */
object RecordedBlocks {

  /** The difference, as a sentence.
    *
    * @param some the first batch is not done: there may be more than was decided
    */
  def difference(
      before: Map[NodeId, BlockShape],
      now: Map[NodeId, BlockShape],
      some: Boolean = false
  ): Option[String] =
    (before.keySet -- now.keySet).minOption.map { id =>
      s"It holds the state of a join of ${names(before(id))}, which the query does not have, or not in a form that can run."
    }.orElse((now.keySet -- before.keySet).minOption.filterNot(_ => some).map { id =>
      s"It was begun without the join of ${names(now(id))} whose changes are requested."
    })

  private def names(block: BlockShape): String = block.relations.map(_.name).mkString(", ")
}
