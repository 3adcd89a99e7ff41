package io.joinless.spark.state

import io.joinless.engine.reduce.{ReducedBatch, ReducedJoin, RestoredResults}
import io.joinless.engine.update.{Restoration, Reversal}
import io.joinless.engine.view.{RowStore, ViewTree}
import io.joinless.spark.spec.{BlockSpec, ReducedBlock, RowCodec}

/** The views of a cell by their kind: a view tree if results are enumerated, sums if they are
  * counted.
  */
private[spark] object Views {

  def empty(spec: BlockSpec): RowStore = spec.shape.reduction match {
    case Some(reduction) => new ReducedJoin(ReducedBlock(spec.shape, reduction).definition)
    case None => new ViewTree(RowCodec.blockDef(spec))
  }

  /** An undo log of a batch. */
  def reversal(views: RowStore): Reversal = views match {
    case tree: ViewTree => new Reversal(tree)
    case sums: ReducedJoin => ReducedBatch.reversal(sums)
    case _ => throw unknown
  }

  /** Fills empty views; `restored` must be called after its `finish`. */
  def restoration(views: RowStore): Restoration = views match {
    case tree: ViewTree => new Restoration(tree)
    case sums: ReducedJoin => sums.restoration()
    case _ => throw unknown
  }

  def restored(views: RowStore): Unit = views match {
    case sums: ReducedJoin => new RestoredResults(sums).drain()
    case _ =>
  }

  private def unknown = new IllegalStateException("views of no known kind")
}
