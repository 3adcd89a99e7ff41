package io.joinless.spark.exec.cells

import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.cells.CellState

/** The kinds of cells. */
private[spark] object CellKinds {

  private[exec] val all: Seq[CellKind[_ <: CellState]] =
    Seq(AppendedCell, ForgettingCell, ChangelogCell, ReducedCell, SampledCell)

  /** The kind of a block's cells. */
  def of(spec: BlockSpec): CellKind[_ <: CellState] =
    all.find(_.fits(spec)).getOrElse(throw new IllegalArgumentException("no kind of cell fits the block"))
}
