package io.joinless.spark.source

import java.util.UUID

import io.joinless.engine.view.ViewTree
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.CellTask
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellId, ChangeLogReader, CommittedStores, StateVersion, ViewTreeCache}
import org.apache.spark.{TaskContext, TaskKilledException}

/** The view tree of one cell for one reader, rebuilt from the cell's log, and the memory it takes.
  *
  * All trees of an executor share one bound ([[ViewTreeCache]]): where it is reached, idle trees go, and a tree that is
  * larger by itself is the error JOINLESS_STATE_TOO_LARGE. The tree is the reader's own; a running query's are not touched.
  * The store is open only while the log is read.
  */
final private[source] class CellTree(spec: BlockSpec, stores: CommittedStores, cell: Int, cacheMaxBytes: Long)
    extends AutoCloseable {
  private[this] val reading = UUID.randomUUID()
  // of a checkpoint that no query has
  private[this] val lease = ViewTreeCache.executor.checkOut(
    CellId(s"read-$reading", 0L, cell),
    StateVersion(reading, stores.batch + 1, None)
  )

  /** @param keep of a row's roles, those that count */
  def rebuilt(keep: ChangeLogReader.Keep): ViewTree = {
    val limit = JoinlessConf.boundOfCache(cacheMaxBytes)
    val context = Option(TaskContext.get())
    def checkSize(bytes: Long): Unit = {
      if (context.exists(_.isInterrupted())) throw new TaskKilledException
      lease.resize(bytes, limit)
      if (bytes > limit) throw JoinlessErrors.stateTooLarge(cell, bytes, limit)
    }
    // rows are enumerated here, also where their query counts them only
    val enumerated = spec.shaped(_.copy(reduction = None))
    stores.read(cell)(blocks => CellTask.rebuild(enumerated, reader(keep), blocks, checkSize).tree)
  }

  def reader(keep: ChangeLogReader.Keep): ChangeLogReader =
    new ChangeLogReader(spec, cell, (block, what) => JoinlessErrors.corruptBlock(block, cell, stores.batch, what), keep)

  override def close(): Unit = lease.release()
}
