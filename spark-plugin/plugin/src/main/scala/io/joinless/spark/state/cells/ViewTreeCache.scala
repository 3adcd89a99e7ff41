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
  * An idle tree can also be read, by several readers at a time (`read`). A check-out waits for them
  * for a moment. If they take longer, they keep the tree as it is, and the task rebuilds its own:
  * a batch never changes what is read, and no reader holds up a query.
  *
  * Memory: idle trees, checked-out trees and those that are read together stay below the bound that
  * tasks give; trees unused longest are dropped first. A check-out drops trees that cannot be
  * requested again: trees of earlier runs and of earlier versions of its operator.
  *
  * @param patience the milliseconds for which a check-out waits for readers
  */
final class ViewTreeCache(patience: Long = ViewTreeCache.Patience) {
  import ViewTreeCache._

  // in order of last use; a check-out at another version discards the tree
  private[this] val idle = mutable.LinkedHashMap.empty[CellId, Idle]
  private[this] val working = mutable.Set.empty[Lease]
  private[this] val reading = mutable.Set.empty[Reading]

  /** The tree of `cell`, to be read together with others; None if it is not idle at exactly `at`.
    */
  def read(cell: CellId, at: StateVersion): Option[Reading] = synchronized {
    idle.get(cell).filter(_.at == at).map(i => begin(i.cached, None))
  }

  /** The same, or the tree a batch later, if it is known which rows that batch inserted. Waits for a
    * moment while a task has the tree.
    */
  def readOrNewer(cell: CellId, at: StateVersion): Option[Reading] = synchronized {
    def isInWork = !idle.contains(cell) && working.exists(lease => lease.cell == cell && lease.at == at)
    await(patience / ReadersPatience)(isInWork)
    read(cell, at).orElse {
      idle.get(cell).filter(_.before.exists(_._1 == at)).flatMap { i =>
        i.cached.before.map(before => begin(i.cached, Some(before)))
      }
    }
  }

  private def begin(state: CellState, before: Option[IndexedSeq[Int]]): Reading = {
    val reader = new Reading(state, before, state.bytes)
    reading += reader
    reader
  }

  /** Waits while something is so, but not longer than so many milliseconds. */
  private def await(most: Long)(isSo: => Boolean): Unit = {
    val until = System.nanoTime + most * 1000000L
    var left = most
    while (isSo && left > 0) {
      wait(left)
      left = (until - System.nanoTime) / 1000000L
    }
  }

  /** Whether a reader has this state, idle or dropped. */
  private def isRead(state: CellState): Boolean = reading.exists(_.state eq state)

  /** Waits until nobody reads the idle tree of a cell. Drops it if that takes too long: its readers
    * keep it.
    */
  private def awaitReaders(cell: CellId): Unit = {
    def isBusy = idle.get(cell).exists(i => isRead(i.cached))
    await(patience)(isBusy)
    if (isBusy) { val _ = idle.remove(cell) }
  }

  /** The tree of `cell` at exactly `at`, if it is cached, and the right to check one in. */
  def checkOut(cell: CellId, at: StateVersion): Lease = synchronized {
    awaitReaders(cell)
    val found = idle.remove(cell).filter(i => i.at == at || i.before.exists(_._1 == at))
    val stale = idle.iterator.collect {
      case (id, i)
          if id.checkpoint == cell.checkpoint && id.operator == cell.operator &&
            (i.at.run != at.run || i.at.version < at.version) => id
    }.toList
    stale.foreach(idle.remove)
    val undo = found.filter(_.at != at).flatMap(_.before).map(_._2)
    val lease = new Lease(cell, at, found.map(_.cached), undo)
    lease.bytes = found.fold(0L)(_.bytes)
    working += lease
    lease
  }

  /** Bytes of all trees: idle, checked out, or dropped but still read. */
  def bytes: Long = synchronized {
    val idleStates = idle.valuesIterator.map(_.cached).toSeq
    val dropped = reading.filterNot(r => idleStates.exists(_ eq r.state)).groupBy(r => System.identityHashCode(r.state))
    idle.valuesIterator.map(_.bytes).sum + working.iterator.map(_.bytes).sum +
      dropped.valuesIterator.map(_.head.bytes).sum
  }

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

  /** Drops undo data first, then the idle trees unused longest, until all take at most `limit` bytes:
    * a dropped tree costs a rebuild in the next batch, dropped undo data only if a batch is rolled
    * back. Trees that are read stay; so do checked-out trees, even if they alone exceed the limit:
    * their tasks must fail then.
    */
  private def shrinkTo(limit: Long): Unit = {
    var total = bytes
    if (total > limit) for ((cell, i) <- idle.toList; (_, undo) <- i.before if total > limit) {
      idle.update(cell, i.copy(before = None, bytes = i.bytes - undo.bytes))
      total -= undo.bytes
    }
    // to drop one that is read would free nothing
    for ((cell, i) <- idle.toList if total > limit && !isRead(i.cached)) {
      idle.remove(cell)
      total -= i.bytes
    }
  }

  /** The shared use of a cell's tree by one reader, until `close`. The tree does not change
    * meanwhile.
    *
    * @param before if the tree is a batch later than the version that is read: by input, a bound of
    *     the ids of that version's rows
    */
  final class Reading private[ViewTreeCache] (
      val state: CellState,
      val before: Option[IndexedSeq[Int]],
      private[ViewTreeCache] val bytes: Long
  ) extends AutoCloseable {
    override def close(): Unit = ViewTreeCache.this.synchronized {
      reading -= this
      ViewTreeCache.this.notifyAll()
    }
  }

  /** The exclusive use of a cell's tree by one task. Ends with `checkIn` or `release`, whichever is
    * first.
    */
  final class Lease private[ViewTreeCache] (
      private[ViewTreeCache] val cell: CellId,
      private[ViewTreeCache] val at: StateVersion,
      found: Option[CellState],
      undo: Option[Undo]
  ) {
    private[ViewTreeCache] var bytes = 0L

    /** The tree; if it is a batch ahead, that batch is rolled back now. */
    lazy val cached: Option[CellState] = undo.map(_.apply()).orElse(found)

    /** Whether the tree was a batch ahead. */
    def rolledBack: Boolean = undo.isDefined

    /** Sets the size of the tree; idle trees make room. Does nothing once the lease has ended.
      *
      * @param limit the bound of the cache, in bytes
      */
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
        ViewTreeCache.this.notifyAll()
      }
    }

    /** The task ends without a tree to keep. */
    def release(): Unit = ViewTreeCache.this.synchronized {
      if (working.remove(this)) ViewTreeCache.this.notifyAll()
    }
  }
}

object ViewTreeCache {

  /** The milliseconds for which a check-out waits for readers: longer than most of them take. */
  final val Patience = 1000L

  /** A reader of rows of some keys waits a fraction of it for a task: what it waits for is less than
    * what it could load instead.
    */
  final private val ReadersPatience = 4

  /** The cache of this executor. */
  val executor = new ViewTreeCache

  final private case class Idle(
      cached: CellState,
      at: StateVersion,
      before: Option[(StateVersion, Undo)],
      bytes: Long
  )
}
