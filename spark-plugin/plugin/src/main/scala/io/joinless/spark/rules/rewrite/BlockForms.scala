package io.joinless.spark.rules.rewrite

import io.joinless.engine.query.{BagNode, JoinTree}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.rules.blocks.JoinBlock
import io.joinless.spark.rules.counts.{Demand, LocalConditions, SummedArguments}
import io.joinless.spark.rules.extract.StaticSides
import io.joinless.spark.spec.{BlockShape, NodeId, ReducedBlock, ReductionSpec, SampleSpec, SpecComparison, SqlTexts}

/** A way to maintain a block: which columns of its rows are stored, and what is emitted of its
  * results.
  */
final private[spark] case class BlockForm(layout: BlockLayout, shape: BlockShape) {
  def rewrite: RewriteBlock = new RewriteBlock(layout)

  /** Rows of insert-only streams are counted. */
  def counts: Boolean = shape.reduction.isDefined || shape.sample.isDefined
}

/** The ways to maintain a block whose results are added up: sums, numbers of equal results, or each
  * result.
  *
  * The way of an existing checkpoint is continued; else the first possible one, or the one that is
  * set.
  *
  * @param layoutOf the layout of a block
  * @param tree the block's join tree: it does not depend on the stored columns
  * @param canCount whether the rows of the block's leaves can carry weights
  */
final private[spark] class BlockForms(
    conf: JoinlessConf,
    texts: SqlTexts,
    layoutOf: JoinBlock => BlockLayout,
    tree: JoinTree,
    canCount: JoinBlock => Boolean
)(implicit statics: StaticSides) {

  /** The form of a block. Its results are enumerated if it is a single leaf, which joins nothing,
    * or if its rows cannot carry weights; and, where nothing is continued, if counting is disabled
    * or saves no work.
    *
    * @param demands what is needed of the results; where nothing is recorded, the first demand that
    *   can be met is met
    * @param recorded the blocks of the query's checkpoint; read only where there may be a choice
    */
  def of(layout: BlockLayout, demands: Seq[Demand], recorded: => Seq[BlockShape]): BlockForm =
    if (layout.block.leaves.size == 1 || !canCount(layout.block)) enumerated(layout)
    else {
      val possible = LazyList.from(demands).flatMap(ways(layout, _))
      continued(layout, possible, recorded).getOrElse {
        if (conf.aggregatesEnabled) possible.flatMap(_.best).headOption.getOrElse(enumerated(layout))
        else enumerated(layout)
      }
    }

  /** The form in which each result is enumerated. */
  def enumerated(layout: BlockLayout): BlockForm = BlockForm(layout, shape(layout))

  /** The form of which a sample is kept; None if the rows of the leaves cannot carry weights. */
  def sampled(layout: BlockLayout, sample: SampleSpec): Option[BlockForm] = Option.when(canCount(layout.block)) {
    val rows = layout.copy(counted = true, sample = Some(sample.copy(by = layout.classes.groupedBy)))
    BlockForm(rows, shape(rows))
  }

  /** The form that stores what a recorded block stores, if there is one: counted in one of the
    * ways, else enumerated. The recorded trees are continued, so none is searched.
    */
  private def continued(layout: BlockLayout, ways: LazyList[Way], recorded: Seq[BlockShape]): Option[BlockForm] = {
    // the trees of another block of the query need not be trees of this one
    def ifContinues(form: BlockForm, before: BlockShape) =
      Option.when(SpecComparison.storesSame(before, form.shape))(form)
    if (recorded.isEmpty) None
    else {
      val counted =
        for (way <- ways; before <- recorded; trees <- before.reduction; form <- ifContinues(way.by(trees), before))
          yield form
      counted.headOption.orElse {
        val form = enumerated(layout)
        recorded.iterator.flatMap(ifContinues(form, _)).nextOption()
      }
    }
  }

  /** The ways to count the results for a demand: with arguments added up inside the join if
    * possible, then without. Before them, for a cycle, the same with conditions that one relation
    * can check: only then can a total be kept.
    */
  private def ways(layout: BlockLayout, demand: Demand): LazyList[Way] = {
    def summed(layout: BlockLayout) =
      LazyList.from(SummedArguments(layout.block, demand)).map(block => new Way(layoutOf(block), demand.once)) #:::
        LazyList(new Way(layout, demand.once))
    val local = if (tree.isInstanceOf[BagNode]) LazyList.from(LocalConditions(layout.block)) else LazyList.empty
    local.flatMap(block => summed(layoutOf(block))) #::: summed(layout)
  }

  /** Sums, or numbers of equal results.
    *
    * @param once equal results count once
    */
  final private class Way(layout: BlockLayout, once: Boolean) {

    /** With these trees. */
    def by(trees: ReductionSpec): BlockForm = {
      val rows = layout.copy(counted = true)
      val reduction = trees.copy(once = once, sums = layout.sums, failures = layout.failures)
      BlockForm(rows, shape(rows).having(ReductionSpec, Some(reduction)))
    }

    /** With the best trees, where they save work compared with enumeration. */
    def best: Option[BlockForm] =
      ReducedBlock.best(shape(layout), conf.expectedRows(layout.block.leaves.map(_.name)), once)
        .filter(_.countsRows).map(found => by(found.reduction))
  }

  /** The block as an enumerated one would be recorded, but for its id: each batch replaces that by
    * the block's own.
    */
  private def shape(layout: BlockLayout): BlockShape =
    new RewriteBlock(layout).shape(NodeId(0), tree, texts)
}
