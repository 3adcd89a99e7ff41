package io.joinless.spark.exec.figures

import io.joinless.engine.view.RowStore
import org.apache.spark.sql.execution.metric.SQLMetric

/** Collects one task's figures; its counts and times are added to the operator's metrics once, at
  * its end.
  */
final private[exec] class TaskMetrics {
  val propagate = new SampledTimer(61)
  val enumerate = new SampledTimer(251)
  var rowsIn = 0L
  var rowsNetted = 0L
  var rowsOut = 0L
  var rowsRemoved = 0L
  var rowsForgotten = 0L
  var rowsExpired = 0L
  var commitNanos = 0L
  private[this] var steps = 0L
  private[this] var moves = 0L
  private[this] var results = 0L

  /** Notes the counters before this batch, since the counters of a tree run on over batches. */
  def start(views: RowStore): Unit = {
    steps = views.counters.steps
    moves = views.counters.moves
    results = views.counters.results
  }

  /** Adds the task's counts and times to the operator's metrics, which are found by name. */
  def report(views: RowStore, metric: String => SQLMetric): Unit = {
    import OperatorMetrics._
    metric(RowsIn) += rowsIn
    metric(RowsNetted) += rowsNetted
    metric(RowsForgotten) += rowsForgotten
    metric(RowsExpired) += rowsExpired
    metric(RowsOut) += rowsOut
    metric(PropagationSteps) += views.counters.steps - steps
    metric(CursorMoves) += views.counters.moves - moves
    metric(ResultsEnumerated) += views.counters.results - results
    metric(PropagateMs) += propagate.nanos / 1000000
    metric(EnumerateMs) += enumerate.nanos / 1000000
    metric(CommitMs) += commitNanos / 1000000
  }
}
