package io.joinless.engine.enumerate

import io.joinless.engine.view.{ViewNode, ViewTree}

/** An odometer over the levels of a plan: constant delay between results, no recursion, nothing materialised (A.5).
  *
  * After `next()` returned true, `tuples(r)` is the row of relation r and `changed` has a bit for each relation whose row
  * differs from the result before; `weight` is the product of the rows' multiplicities and the base.
  */
final private[enumerate] class Cursor(tree: ViewTree, residuals: IndexedSeq[Residual]) {
  private[this] val counters = tree.counters
  private[this] val weighted = tree.block.retractable
  private[this] val contexts = new Array[Array[Level]](tree.nodes.length)
  private[this] val rootLevels = Level.full(tree, residuals)
  private[this] val atStart: Array[Array[Residual]] =
    tree.nodes.map(n => residuals.filter(_.relations.forall(_ == n.id)).toArray)
  private[this] var levels: Array[Level] = rootLevels
  private[this] var last = -1
  private[this] var active = false
  private[this] var opened = false
  private[this] val allRelations = (1L << tree.block.relations.size) - 1

  val tuples = new Array[Int](tree.nodes.length)
  private[this] val weights = new Array[Long](tree.nodes.length + 1)
  var changed: Long = 0L

  def weight: Long = if (weighted) weights(last + 1) else 1L

  /** The results that contain `tuple` of `node`, each with the weight `base` times the multiplicities of the other rows. */
  def start(node: ViewNode, tuple: Int, base: Long): Unit = {
    if (contexts(node.id) == null) contexts(node.id) = Level.context(node, residuals)
    levels = contexts(node.id)
    tuples(node.id) = tuple
    val conditions = atStart(node.id)
    open(base)
    if (conditions.length > 0 && !conditions.forall(_.accept(tuples))) active = false
  }

  /** All results. */
  def startFull(): Unit = {
    levels = rootLevels
    open(1L)
  }

  private def open(base: Long): Unit = {
    last = levels.length - 1
    weights(0) = base
    active = true
    opened = false
    changed = allRelations
  }

  /** No more results. */
  def stop(): Unit = active = false

  def next(): Boolean =
    if (!active) false
    else if (!opened) {
      opened = true
      if (last < 0) { active = false; counters.results += 1; true }
      else advance(0, fresh = true)
    } else {
      changed = 0L
      advance(last, fresh = false)
    }

  private def advance(from: Int, fresh: Boolean): Boolean = {
    var l = from
    var enter = fresh
    var moves = 0L
    while (l >= 0) {
      val level = levels(l)
      moves += 1
      val reference = if (enter) first(level) else if (level.lists == null) 0 else level.lists.next(tuples(level.node))
      if (reference == 0) {
        l -= 1
        enter = false
      } else {
        tuples(level.node) = reference - 1
        changed |= level.bit
        if (level.residuals != null && !accepts(level.residuals)) enter = false
        else {
          if (weighted)
            weights(l + 1) = if (level.relation == null) weights(l)
            else Math.multiplyExact(weights(l), level.relation.weight(reference - 1))
          if (l == last) {
            counters.moves += moves
            counters.results += 1
            return true
          }
          l += 1
          enter = true
        }
      }
    }
    counters.moves += moves
    active = false
    false
  }

  /** First candidate of a level plus one. */
  private def first(level: Level): Int =
    if (level.from < 0) level.lists.head(0)
    else {
      val key = if (level.keys == null) tuples(level.from) else level.keys(tuples(level.from))
      if (level.lists == null) key + 1 else level.lists.head(key)
    }

  private def accepts(conditions: Array[Residual]): Boolean = {
    var i = 0
    while (i < conditions.length) {
      if (!conditions(i).accept(tuples)) return false
      i += 1
    }
    true
  }
}
