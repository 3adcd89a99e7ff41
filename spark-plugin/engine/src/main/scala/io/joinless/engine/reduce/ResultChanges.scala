package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual

/** Chooses how the result changes of a reduced join are found. */
private[reduce] object ResultChanges {

  /** The result changes of a join with one component, with a cycle of three, or with a top. */
  def apply(join: ReducedJoin, residuals: IndexedSeq[Residual]): SumChanges =
    if (join.top == null) new ProjectedChanges(join, residuals)
    else if (join.cycle != null) {
      require(residuals.isEmpty, "totals are of all results")
      new CycleChanges(join)
    } else new TopChanges(join, residuals)
}
