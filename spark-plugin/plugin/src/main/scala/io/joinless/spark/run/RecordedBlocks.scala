package io.joinless.spark.run

import io.joinless.spark.spec.BlockSpec

/** Whether a plan has the join blocks that were decided before, by ordinal: no more and no fewer. What is inside them is for
  * [[SpecComparison]].
  */
object RecordedBlocks {

  /** What differs, in a sentence. */
  def difference(before: Map[Int, BlockSpec], now: Map[Int, BlockSpec]): Option[String] =
    (before.keySet -- now.keySet).minOption.map { ordinal =>
      s"It holds the state of a join of ${names(before(ordinal))}, which the query does not have, or not in a form that can run."
    }.orElse((now.keySet -- before.keySet).minOption.map { ordinal =>
      s"It was begun without the join of ${names(now(ordinal))} whose changes are asked."
    })

  private def names(block: BlockSpec): String = block.relations.map(_.name).mkString(", ")
}
