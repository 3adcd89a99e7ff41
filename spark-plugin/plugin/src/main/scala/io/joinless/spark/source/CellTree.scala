package io.joinless.spark.source

import java.util.UUID

import io.joinless.engine.reduce.ReducedJoin
import io.joinless.engine.view.ViewTree
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.cells.{CellKinds, LogReplay, ReducedCell}
import io.joinless.spark.spec.{BlockSpec, ReductionSpec, SampleSpec}
import io.joinless.spark.state.CommittedStores
import io.joinless.spark.state.cells.{CellId, CellState, StateVersion, ViewTreeCache}
import io.joinless.spark.state.log.ChangeLogReader
import org.apache.spark.{TaskContext, TaskKilledException}

/** The view tree of one cell, or its sums, for one reader, rebuilt from the cell's log, and the
  * memory it takes.
  *
  * All trees of an executor share one bound ([[ViewTreeCache]]): if it is reached, idle trees are
  * dropped, and a tree that is larger by itself is the error JOINLESS_STATE_TOO_LARGE. The tree is
  * the reader's own. The store is open only while the log is read.
  *
  * A running query's tree can be read instead, for a moment (`ofRunning`).
  *
  * @param running the run of the query
  */
final private[source] class CellTree(
    spec: BlockSpec,
    stores: CommittedStores,
    cell: Int,
    cacheMaxBytes: Long,
    running: Option[UUID] = None
) extends AutoCloseable {
  private[this] val reader = UUID.randomUUID()
  private[this] val limit = JoinlessConf.boundOfCache(cacheMaxBytes)
  // of a checkpoint that no query has
  private[this] val lease = ViewTreeCache.executor.checkOut(
    CellId(s"read-$reader", 0L, cell),
    StateVersion(reader, stores.batch + 1, None)
  )
  private[this] var treeBytes = 0L

  /** Reads the tree of the running query, if this executor has it, at exactly the batch that is
    * read. The query's next batch waits meanwhile, but not for long: then it builds a tree anew. So
    * `read` must do little, and a tree whose rows take long to count is left alone.
    */
  def ofRunning[A](read: ViewTree => A): Option[A] = reading(ViewTreeCache.executor.read(_, _))((tree, _) => read(tree))

  /** The same, also if the query's tree has a batch more, or is about to: `read` gets by input a
    * bound of the ids of the rows that it may use.
    */
  def ofRunningOrNewer[A](read: (ViewTree, Option[IndexedSeq[Int]]) => A): Option[A] =
    reading(ViewTreeCache.executor.readOrNewer(_, _))(read)

  private def reading[A](find: (CellId, StateVersion) => Option[ViewTreeCache#Reading])(
      read: (ViewTree, Option[IndexedSeq[Int]]) => A
  ): Option[A] = for {
    run <- running
    version = StateVersion(run, stores.batch + 1, stores.cells.checkpointId(cell))
    idle <- find(CellId(stores.cells.location, stores.cells.operator, cell), version)
    done <-
      try
        idle.state.views match { // sums have no results
          case tree: ViewTree if tree.rows <= CellTree.MostRowsOfRunning => Some(read(tree, idle.before))
          case _ => None
        }
      finally idle.close()
  } yield done

  /** @param keep the roles of a row that are read */
  def rebuilt(keep: ChangeLogReader.Keep): ViewTree = {
    // rows are enumerated here, also where their query counts them only
    val enumerated = spec.shaped(_.having(ReductionSpec, None).having(SampleSpec, None))
    restored(enumerated, keep)(CellKinds.of(enumerated).rebuild).tree
  }

  /** The sums of a block that has some; their results are still to be read. */
  def sums(keep: ChangeLogReader.Keep): ReducedJoin = restored(spec, keep)(ReducedCell.pending).views

  /** Rebuilds a state while the store is open. Stops if the task is killed.
    *
    * @param as the block as it is to be rebuilt
    */
  private def restored[S <: CellState](as: BlockSpec, keep: ChangeLogReader.Keep)(rebuild: LogReplay => S): S =
    stores.read(cell)(blocks => rebuild(new LogReplay(as, logReader(keep), blocks, checkSize)))

  private def checkSize(bytes: Long): Unit = {
    if (Option(TaskContext.get()).exists(_.isInterrupted())) throw new TaskKilledException
    treeBytes = bytes
    lease.resize(bytes, limit)
    if (bytes > limit) throw JoinlessErrors.stateTooLarge(cell, bytes, limit)
  }

  /** Adds what is kept beside the rebuilt tree. */
  def keepBeside(bytes: Long): Unit = checkSize(treeBytes + bytes)

  /** A reader of the cell's log, whose errors name the batch. */
  def logReader(keep: ChangeLogReader.Keep): ChangeLogReader =
    new ChangeLogReader(spec, cell, (block, what) => JoinlessErrors.corruptBlock(block, cell, stores.batch, what), keep)

  override def close(): Unit = lease.release()
}

private object CellTree {

  /** A tree with more rows is not read while its query runs: to count its results takes longer than
    * a batch should wait.
    */
  final val MostRowsOfRunning = 1L << 22
}
