package io.joinless.spark.state

import io.joinless.engine.reduce.ReducedJoin
import io.joinless.engine.update.{Restoration, Reversal}
import io.joinless.engine.view.{RowStore, ViewTree}
import io.joinless.spark.spec.{BlockSpec, ReducedBlock, RowCodec}

/** The views of a cell by their kind: a view tree where results are enumerated, sums where they are counted. */
private[spark] object Views {

  def empty(spec: BlockSpec): RowStore = spec.shape.reduction match {
    case Some(reduction) => new ReducedJoin(ReducedBlock(spec.shape, reduction).definition)
    case None => new ViewTree(RowCodec.blockDef(spec))
  }

  /** Notes a batch so that it can be taken back. */
  def reversal(views: RowStore): Reversal = views match {
    case tree: ViewTree => new Reversal(tree)
    case sums: ReducedJoin => sums.reversal()
    case _ => throw unknown
  }

  /** Fills empty views; `restored` is to be called behind its `finish`. */
  def restoration(views: RowStore): Restoration = views match {
    case tree: ViewTree => new Restoration(tree)
    case sums: ReducedJoin => sums.restoration()
    case _ => throw unknown
  }

  def restored(views: RowStore): Unit = views match {
    case sums: ReducedJoin => sums.restored()
    case _ =>
  }

  private def unknown = new IllegalStateException("views of no known kind")
}
