package io.joinless.spark.compile

import io.joinless.engine.query.JoinTree
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.rules.{BlockLayout, JoinBlock, RewriteBlock, StaticSides}
import io.joinless.spark.spec.{BlockShape, NodeId, ReducedBlock, ReductionSpec, SpecComparison, SqlTexts}

/** A way to keep a block: what is stored of its rows, and what is told of its results. */
final private[compile] case class BlockForm(layout: BlockLayout, shape: BlockShape) {
  def rewrite: RewriteBlock = new RewriteBlock(layout)
  def counts: Boolean = shape.reduction.isDefined
}

/** The ways to keep a block whose results are added up: sums, numbers of equal results, or each result.
  *
  * What a checkpoint was begun with goes on; else the first that there is, or that is set.
  *
  * @param layoutOf the layout of a block
  * @param tree the block's join tree: what is stored of its rows plays no part in it
  */
final private[compile] class BlockForms(
    conf: JoinlessConf,
    texts: SqlTexts,
    layoutOf: JoinBlock => BlockLayout,
    tree: JoinTree
)(implicit statics: StaticSides) {

  /** @param recorded the blocks of the query's checkpoint; asked only where there is a choice */
  def of(layout: BlockLayout, demand: Demand, recorded: => Seq[BlockShape]): BlockForm =
    summed(layout, demand).orElse(counted(layout, demand)).fold(enumerated(layout)) { first =>
      val before = recorded
      // the others are made where something is recorded only
      def all = first #:: (LazyList.from(counted(layout, demand)) #::: LazyList(enumerated(layout)))
      val begun =
        if (before.isEmpty) None else all.find(form => before.exists(SpecComparison.storesSame(_, form.shape)))
      begun.getOrElse(if (conf.countsResults) first else enumerated(layout))
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
    if (leaves.size == 1 || !leaves.forall(leaf => Streams.isLinear(leaf.plan))) None
    else ReducedBlock.best(shape(layout), conf.expectedRows(leaves.map(_.name))).filter(_.countsRows).map(_.reduction)
  }

  // each batch puts the block's own id there
  private def shape(layout: BlockLayout): BlockShape =
    new RewriteBlock(layout).shape(NodeId(0), tree, texts)
}
