package io.joinless.spark.run

import io.joinless.spark.spec.{BlockShape, NodeId}

/** Whether a plan has the join blocks that were decided before, by their ids: no more and no fewer. What is inside them is for
  * [[SpecComparison]].
  */
object RecordedBlocks {

  /** What differs, in a sentence. */
  def difference(before: Map[NodeId, BlockShape], now: Map[NodeId, BlockShape]): Option[String] =
    (before.keySet -- now.keySet).minOption.map { id =>
      s"It holds the state of a join of ${names(before(id))}, which the query does not have, or not in a form that can run."
    }.orElse((now.keySet -- before.keySet).minOption.map { id =>
      s"It was begun without the join of ${names(now(id))} whose changes are asked."
    })

  private def names(block: BlockShape): String = block.relations.map(_.name).mkString(", ")
}
