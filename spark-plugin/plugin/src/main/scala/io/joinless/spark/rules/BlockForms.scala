package io.joinless.spark.rules

import io.joinless.engine.query.JoinTree
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.spec.{BlockShape, NodeId, ReducedBlock, ReductionSpec, SpecComparison, SqlTexts}

/** A way to keep a block: what is stored of its rows, and what is told of its results. */
final private[spark] case class BlockForm(layout: BlockLayout, shape: BlockShape) {
  def rewrite: RewriteBlock = new RewriteBlock(layout)
  def counts: Boolean = shape.reduction.isDefined
}

/** The ways to keep a block whose results are added up: sums, numbers of equal results, or each result.
  *
  * What a checkpoint was begun with goes on; else the first that there is, or that is set.
  *
  * @param layoutOf the layout of a block
  * @param tree the block's join tree: what is stored of its rows plays no part in it
  * @param canCount whether weights can travel with the rows of the block's leaves
  */
final private[spark] class BlockForms(
    conf: JoinlessConf,
    texts: SqlTexts,
    layoutOf: JoinBlock => BlockLayout,
    tree: JoinTree,
    canCount: JoinBlock => Boolean
)(implicit statics: StaticSides) {

  /** @param demands what is needed of the results; the first of them is met where nothing is recorded
    * @param recorded the blocks of the query's checkpoint; asked only where there is a choice
    */
  def of(layout: BlockLayout, demands: Seq[Demand], recorded: => Seq[BlockShape]): BlockForm = {
    // the others are made where something is recorded only
    val all =
      LazyList.from(demands).flatMap(d => LazyList.from(summed(layout, d)) #::: LazyList.from(counted(layout, d)))
    all.headOption.fold(enumerated(layout)) { first =>
      val before = recorded
      val begun =
        if (before.isEmpty) None
        else (all :+ enumerated(layout)).find(form => before.exists(SpecComparison.storesSame(_, form.shape)))
      begun.getOrElse(if (conf.aggregatesEnabled) first else enumerated(layout))
    }
  }

  def enumerated(layout: BlockLayout): BlockForm = BlockForm(layout, shape(layout))

  private def counted(layout: BlockLayout, demand: Demand): Option[BlockForm] = for {
    reduction <- reduction(layout)
  } yield form(layout, reduction.copy(once = demand.once))

  private def summed(layout: BlockLayout, demand: Demand): Option[BlockForm] = for {
    block <- SummedArguments(layout.block, demand)
    sums = layoutOf(block)
    reduction <- reduction(sums)
  } yield form(sums, reduction.copy(once = demand.once, sums = sums.sums, failures = sums.failures))

  private def form(layout: BlockLayout, reduction: ReductionSpec): BlockForm = {
    val rows = layout.copy(counted = true)
    BlockForm(rows, shape(rows).copy(reduction = Some(reduction)))
  }

  /** How results are counted without enumerating them, where that saves something. */
  private def reduction(layout: BlockLayout): Option[ReductionSpec] = {
    val leaves = layout.block.leaves
    if (leaves.size == 1 || !canCount(layout.block)) None
    else ReducedBlock.best(shape(layout), conf.expectedRows(leaves.map(_.name))).filter(_.countsRows).map(_.reduction)
  }

  // each batch puts the block's own id there
  private def shape(layout: BlockLayout): BlockShape =
    new RewriteBlock(layout).shape(NodeId(0), tree, texts)
}
