package io.joinless.spark.compile

import io.joinless.engine.query.{BagNode, GyoReduction}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.rules.blocks.JoinBlock
import io.joinless.spark.rules.rewrite.{BlockLayout, WaysOutOfCycles}
import io.joinless.spark.spec.{BlockShape, RecordedQuery}

/** How blocks whose equi-join conditions form a cycle are joined, where changes are requested:
  * Spark cannot run them.
  *
  * They are joined by intersection. Samples are drawn by counts, which need views, so there, and
  * where the setting says so, the cycle is opened: the condition that closes it is checked on each
  * result of the others. A checkpoint goes on as it was begun.
  *
  * @param recorded the blocks of the checkpoint
  */
final private[compile] class CyclicBlocks(conf: JoinlessConf, recorded: => Seq[BlockShape]) {

  /** The layout of a block, by `layoutOf`; a cycle is in it only if it is joined by intersection.
    */
  def apply(block: JoinBlock, consumer: Consumer)(layoutOf: JoinBlock => BlockLayout): BlockLayout = {
    val closed = layoutOf(block)
    GyoReduction.reduce(closed.hypergraph).fold(
      core => if (isIntersected(closed, consumer)) closed else layoutOf(WaysOutOfCycles.opened(block, core)),
      _ => closed
    )
  }

  private def isIntersected(layout: BlockLayout, consumer: Consumer): Boolean = {
    val names = layout.block.leaves.map(_.name)
    // names of relations may be others now
    def alike = recorded.filter(b => b.relations.size == names.size && (b.isBag || b.closesCycle))
    def before = RecordedQuery.likely(alike)(_.relations.map(_.name) == names).headOption
    consumer.sample.isEmpty && layout.classes.attributes.size <= BagNode.MaxAttributes &&
    before.fold(conf.cyclicJoins)(_.isBag)
  }
}
