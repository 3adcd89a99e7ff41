package io.joinless.spark.exec.cells

import io.joinless.engine.algebra.WideCounts
import io.joinless.engine.sample.{KeptSample, SampleJournal, SampleSeed, SampledBatch}
import io.joinless.engine.update.{Restoration, Reversal}
import io.joinless.engine.view.{AggregatesDef, RowStore, ViewTree}
import io.joinless.spark.exec.rows.{NetRows, OutputRow, ResidualPredicates}
import io.joinless.spark.spec.{BlockSpec, RowCodec, SampleSpec}
import io.joinless.spark.state.Rollback
import io.joinless.spark.state.cells.{CellState, StoredSample}
import io.joinless.spark.state.log.{LogEnd, LogExtent}
import io.joinless.spark.state.times.ExpiringRows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Cells of blocks of whose results a sample is kept: results are counted exactly, and only those
  * that are drawn are found. Besides the log, the store has the sampled copies ([[StoredSample]]).
  */
private[spark] object SampledCell extends NettedCell[ViewTree, SampledState] {

  override def fits(spec: BlockSpec): Boolean = spec.shape.sample.isDefined

  override protected def views(spec: BlockSpec): ViewTree = new ViewTree(
    RowCodec.blockDef(spec),
    Some(AggregatesDef(WideCounts, IndexedSeq.fill(spec.relations.size)(None)))
  )

  override protected def restoration(views: ViewTree): Restoration = new Restoration(views)

  /** The state of these parts, without a sample. */
  override protected def state(
      spec: BlockSpec,
      views: ViewTree,
      end: LogEnd,
      extent: LogExtent,
      expiring: Option[ExpiringRows]
  ): SampledState =
    new SampledState(views, end, extent, expiring, sample(spec.shape.sample.get, views))

  private def sample(spec: SampleSpec, views: ViewTree) = new KeptSample(spec.size, views, spec.isGrouped)

  override def rebuild(log: LogReplay): SampledState = {
    val state = super.rebuild(log)
    StoredSample.restore(state.sample, state.views, log.aside, log.damaged)
    log.checkSize(state.bytes)
    state
  }

  override protected def newTask(context: CellContext, state: SampledState, rows: Iterator[InternalRow]): CellTask =
    new SampledTask(context, state, rows, new SampleRollback(state))
}

/** @param sample the copies of results that are kept */
final private[spark] class SampledState(
    override val views: ViewTree,
    end: LogEnd,
    extent: LogExtent,
    expiring: Option[ExpiringRows],
    val sample: KeptSample
) extends NettedState(end, extent, expiring) {

  override protected def bytesOfParts: Long = super.bytesOfParts + sample.bytes

  /** The number of results; with residual conditions an upper bound. */
  override def results: Option[BigInt] = Some(SampledBatch.total(views))

  override def at(end: LogEnd): SampledState = new SampledState(views, end, extent, expiring, sample)
}

/** Rolls the sample back, after the views. */
final private class SampleRollback(state: SampledState) extends Rollback {
  val journal = new SampleJournal(state.sample, state.views)

  override def rollBack(views: RowStore): Unit = journal.undo()

  override def bytesToRollBack: Long = journal.bytes
}

/** One batch in one cell of a sampled block. Exchange rows with weights in; out, the net changes of
  * the sample. Nothing is enumerated: the batch says which copies of results leave and enter
  * ([[SampledBatch]]), and these are written to the store.
  *
  * Random numbers follow from the seed of the sample, the cell and the number of the batch. So a
  * batch that is played again gives the same sample.
  *
  * Cost: the batch in memory, netted; then a step per tuple whose count changes, and what the
  * copies cost that enter. The output, at most twice the sample, is in memory: different results
  * can be equal rows.
  */
final private class SampledTask(
    context: CellContext,
    before: SampledState,
    exchanged: Iterator[InternalRow],
    rollback: SampleRollback
) extends NettedTask(
      context,
      before,
      exchanged,
      SampledCell.firstBatch(context.spec),
      new Reversal(before.views),
      Seq(rollback)
    ) {
  import context._

  override protected val batch =
    new SampledBatch(before.views, ResidualPredicates.compile(spec, residuals, arenaOf), before.sample, negatives)
  private[this] val numbers = if (spec.shape.sample.get.keyed) 2 else 1
  private[this] val output = new OutputRow(spec, arenaOf, numbers)
  private[this] val element = new Array[Long](numbers) // the weight, then the bits of the key
  private[this] val all = (1L << spec.relations.size) - 1
  private[this] var net = new NetRows(spec.output.size + numbers)

  /** Reads the batch, and nets the changes of the sample. */
  override protected def begin(): Unit = {
    batch.seed = SampleSeed(spec.shape.sample.get.seed, cell, number)
    batch.journal = rollback.journal
    super.begin()
    metrics.propagate.once(batch.propagate())
    val stored = new StoredSample.Writer(before.sample, before.views, store)
    while (step()) {
      stored.change(batch.slot)
      element(0) = batch.weight
      if (numbers > 1) element(1) = java.lang.Double.doubleToRawLongBits(before.sample.key(batch.slot))
      net.add(output.update(batch.rows, all, element))
    }
    stored.write()
  }

  override protected def emitNext(): UnsafeRow = if (net.next()) net.row else null

  override protected def close(): CellState = {
    net = null
    super.close()
  }
}
