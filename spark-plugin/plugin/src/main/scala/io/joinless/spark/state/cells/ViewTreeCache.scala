package io.joinless.spark.state.cells

import java.util.UUID

import scala.collection.mutable

/** One cell of one operator of one checkpoint: the key of a view tree. */
final case class CellId(checkpoint: String, operator: Long, cell: Int)

/** The version of a cell's state: the run, the store's version, and the id of its checkpoint if the
  * store has one.
  */
final case class StateVersion(run: UUID, version: Long, checkpointId: Option[String])

/** View trees that outlive their task, one per cell (algorithms A35 and A39, architecture D5).
  *
  * A task checks the tree of its cell out (then no other task has it) and checks it in after its
  * store committed. A failed, killed or speculative attempt never checks in, so the next one finds
  * nothing and rebuilds from the log; nothing needs to be invalidated. A tree is returned only for
  * exactly its own version, or with its last batch rolled back for the version before. The latter
  * is requested by another action on the batch of a `foreachBatch`, and by the retry of a task
  * whose result was lost.
  *
  * Memory: idle trees and checked-out trees together stay below the bound that tasks give; trees
  * unused longest are dropped first. A check-out drops trees that cannot be requested again: trees
  * of earlier runs and of earlier versions of its operator.
  */
final class ViewTreeCache {
  import ViewTreeCache._

  // in order of last use; a check-out at another version discards the tree
  private[this] val idle = mutable.LinkedHashMap.empty[CellId, Idle]
  private[this] val working = mutable.Set.empty[Lease]

  /** The tree of `cell` at exactly `at`, if it is cached, and the right to check one in. */
  def checkOut(cell: CellId, at: StateVersion): Lease = synchronized {
    val found = idle.remove(cell).filter(i => i.at == at || i.before.exists(_._1 == at))
    val stale = idle.iterator.collect {
      case (id, i)
          if id.checkpoint == cell.checkpoint && id.operator == cell.operator &&
            (i.at.run != at.run || i.at.version < at.version) => id
    }.toList
    stale.foreach(idle.remove)
    val undo = found.filter(_.at != at).flatMap(_.before).map(_._2)
    val lease = new Lease(cell, found.map(_.cached), undo)
    lease.bytes = found.fold(0L)(_.bytes)
    working += lease
    lease
  }

  /** Bytes of all trees, idle and checked out. */
  def bytes: Long = synchronized(idle.valuesIterator.map(_.bytes).sum + working.iterator.map(_.bytes).sum)

  /** Number of idle trees. */
  def size: Int = synchronized(idle.size)

  /** Drops all idle trees. */
  def clear(): Unit = synchronized(idle.clear())

  /** Drops the idle trees whose state is not in use here any more: their query ended, or another
    * executor has the cell.
    */
  def retain(inUse: (CellId, StateVersion) => Boolean): Unit = {
    // called without the lock: tasks need not wait
    val unused = synchronized(idle.view.mapValues(_.at).toList).filterNot(inUse.tupled)
    synchronized { for ((cell, at) <- unused if idle.get(cell).exists(_.at == at)) idle.remove(cell) }
  }

  /** Drops undo data first, then the trees unused longest: a dropped tree costs a rebuild in the
    * next batch, dropped undo data only if a batch is rolled back. Checked-out trees stay, even if
    * they alone exceed the limit: their tasks must fail then.
    */
  private def shrinkTo(limit: Long): Unit = {
    var total = bytes
    if (total > limit) for ((cell, i) <- idle.toList; (_, undo) <- i.before if total > limit) {
      idle.update(cell, i.copy(before = None, bytes = i.bytes - undo.bytes))
      total -= undo.bytes
    }
    while (total > limit && idle.nonEmpty) {
      val (id, oldest) = idle.head
      idle.remove(id)
      total -= oldest.bytes
    }
  }

  /** The exclusive use of a cell's tree by one task. Ends with `checkIn` or `release`, whichever is
    * first.
    */
  final class Lease private[ViewTreeCache] (cell: CellId, found: Option[CellState], undo: Option[Undo]) {
    private[ViewTreeCache] var bytes = 0L

    /** The tree; if it is a batch ahead, that batch is rolled back now. */
    lazy val cached: Option[CellState] = undo.map(_.apply()).orElse(found)

    /** Whether the tree was a batch ahead. */
    def rolledBack: Boolean = undo.isDefined

    /** Sets the size of the tree; idle trees make room. Does nothing once the lease has ended. */
    def resize(treeBytes: Long, limit: Long): Unit = ViewTreeCache.this.synchronized {
      if (working.contains(this)) {
        bytes = treeBytes
        shrinkTo(limit)
      }
    }

    /** Returns the tree, whose content the store has committed as version `at`; `before` leads back
      * to the version before.
      */
    def checkIn(
        tree: CellState,
        at: StateVersion,
        limit: Long,
        before: Option[(StateVersion, Undo)] = None
    ): Unit = ViewTreeCache.this.synchronized {
      if (working.remove(this)) {
        idle.remove(cell)
        idle.put(cell, Idle(tree, at, before, tree.bytes + before.fold(0L)(_._2.bytes)))
        shrinkTo(limit)
      }
    }

    /** The task ends without a tree to keep. */
    def release(): Unit = ViewTreeCache.this.synchronized {
      val _ = working.remove(this)
    }
  }
}

object ViewTreeCache {

  /** The cache of this executor. */
  val executor = new ViewTreeCache

  final private case class Idle(
      cached: CellState,
      at: StateVersion,
      before: Option[(StateVersion, Undo)],
      bytes: Long
  )
}
