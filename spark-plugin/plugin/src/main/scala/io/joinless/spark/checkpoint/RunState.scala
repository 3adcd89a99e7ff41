package io.joinless.spark.checkpoint

import io.joinless.spark.spec.{BlockShape, GroupShape, NodeId, RecordedQuery}

/** The state of the streaming run that a rule plans for. A value: rules read no state themselves.
  */
sealed trait RunState {

  /** The blocks that are ours already. */
  def blocks: Map[NodeId, BlockShape] = Map.empty
}

object RunState {

  /** No streaming query is running: the plan is only explained. */
  case object NoQuery extends RunState

  /** The first batch of a query whose checkpoint holds no state. */
  case object Fresh extends RunState

  /** Decided before, in this run or in an earlier one: exactly these blocks are ours.
    *
    * @param sparkOperators the checkpoint also holds stateful operators of Spark's own
    * @param groups the groups that the checkpoint holds, in the order of their operators
    * @param some the first batch is not done: there may be more ([[RecordedBlocks]])
    */
  final case class Decided(
      override val blocks: Map[NodeId, BlockShape],
      sparkOperators: Boolean,
      groups: Seq[GroupShape] = Nil,
      some: Boolean = false
  ) extends RunState {

    def query: RecordedQuery = RecordedQuery(blocks.toSeq.sortBy(_._1).map(_._2), groups)
  }
}
