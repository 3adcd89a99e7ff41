package io.joinless.spark.state

import java.util.UUID
import io.joinless.engine.view.ViewTree
import scala.collection.mutable

/** One cell of one operator of one checkpoint: whose state a view tree is. */
final case class CellId(checkpoint: String, operator: Long, cell: Int)

/** Which state of the cell: the run, the store's version, and the id of its checkpoint where the store has one. */
final case class StateVersion(run: UUID, version: Long, checkpointId: Option[String])

/** A view tree that stands for the store at some version, the number of the log's next block, and, where the log has
  * weights, what is known of it.
  */
final case class CachedTree(tree: ViewTree, nextSequence: Long, extent: Option[LogExtent] = None) {
  def bytes: Long = tree.bytes + extent.fold(0L)(_.bytes)
}

/** View trees that outlive their task, one per cell (architecture D5).
  *
  * A task checks the tree of its cell out (then nobody else has it) and checks it in after its store committed. A failed,
  * killed or speculative attempt never checks in, so the next one finds nothing and rebuilds from the log; nothing needs
  * to be invalidated. A tree is handed out only for exactly the version it stands for.
  *
  * Memory: idle trees and trees at work together stay below the bound that tasks give; the idle tree unused longest goes
  * first. A check-out drops what nobody can ask for again: trees of earlier runs and of earlier versions of its operator.
  */
final class ViewTreeCache {
  import ViewTreeCache._

  // in order of last use
  private[this] val idle = mutable.LinkedHashMap.empty[CellId, Idle]
  private[this] val working = mutable.Set.empty[Lease]

  /** The tree of `cell` at exactly `at`, where it is here, and the right to check one in. */
  def checkOut(cell: CellId, at: StateVersion): Lease = synchronized {
    val found = idle.remove(cell).filter(_.at == at)
    val stale = idle.iterator.collect {
      case (id, i)
          if id.checkpoint == cell.checkpoint && id.operator == cell.operator &&
            (i.at.run != at.run || i.at.version < at.version) => id
    }.toList
    stale.foreach(idle.remove)
    val lease = new Lease(cell, found.map(_.cached))
    lease.bytes = found.fold(0L)(_.bytes)
    working += lease
    lease
  }

  /** Bytes of all trees, idle and at work. */
  def bytes: Long = synchronized(idle.valuesIterator.map(_.bytes).sum + working.iterator.map(_.bytes).sum)

  /** Number of idle trees. */
  def size: Int = synchronized(idle.size)

  /** Drops all idle trees. */
  def clear(): Unit = synchronized(idle.clear())

  private def shrinkTo(limit: Long): Unit = {
    var total = bytes
    while (total > limit && idle.nonEmpty) {
      val (id, oldest) = idle.head
      idle.remove(id)
      total -= oldest.bytes
    }
  }

  /** The exclusive use of a cell's tree by one task. Ends with `checkIn` or `release`, whichever is first. */
  final class Lease private[ViewTreeCache] (cell: CellId, val cached: Option[CachedTree]) {
    private[ViewTreeCache] var bytes = 0L

    /** The tree now has this size; idle trees make room. */
    def resize(bytes: Long, limit: Long): Unit = ViewTreeCache.this.synchronized {
      if (working.contains(this)) {
        this.bytes = bytes
        shrinkTo(limit)
      }
    }

    /** The store has committed what the tree holds as version `at`. */
    def checkIn(tree: CachedTree, at: StateVersion, limit: Long): Unit = ViewTreeCache.this.synchronized {
      if (working.remove(this)) {
        idle.remove(cell)
        idle.put(cell, Idle(tree, at, tree.bytes))
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

  final private case class Idle(cached: CachedTree, at: StateVersion, bytes: Long)
}
