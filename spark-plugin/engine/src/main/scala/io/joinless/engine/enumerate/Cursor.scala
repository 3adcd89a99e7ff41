package io.joinless.engine.enumerate

import io.joinless.engine.algebra.Weight
import io.joinless.engine.view.{ViewNode, ViewTree}

/** An odometer over the levels of a plan: constant delay between results, no recursion, nothing materialised
  * (algorithms A23 to A27).
  *
  * Each level binds one node to a tuple of a list, under a key of a tuple that an earlier level has bound. The results
  * of the witness S(10,7) of R(a,b) ⋈ S(b,c) ⋈ T(c,d) under the tree [B]{R, S·T}:
  * {{{
  * level  binds  from       list                        turns
  * 0      T      S(10,7)    V_s of T under the key 7    (7,6)
  * 1      R      S(10,7)    V_s of R under the key 10   (1,10)   then (2,10)
  *                                                      └─ (1,10,7,6)  └─ (2,10,7,6)
  * }}}
  * Nothing is bound of [B]: R is found under the key that S has towards it ([[Plan]]).
  * The innermost level turns for every result, and its list lies in pieces of memory: the results of a piece are a ''run'', which
  * `take` hands out as a whole. A level whose list ends goes back to the one before it. T and R look at
  * nothing but what is bound already, and no level looks at them: such ''loose'' levels are put in the order of their
  * lists' lengths each time they are entered, the longest innermost.
  *
  * Invariant: no list is empty (but the root's, where there is no result at all), since going up follows live tuples
  * and going down alive ones; so each combination bound down to the last level is a result, if the residuals accept it.
  * Cost: at most two moves per level between two results without residuals, between two combinations with them. The
  * tree must not change meanwhile.
  *
  * After `next()` returned true, `tuples(r)` is the row of relation r and `changed` has a bit for each relation whose row
  * may differ from the result before, and for each other place of what results show whose words may; `weight` is the product of the rows' multiplicities and the base.
  */
final private[engine] class Cursor(tree: ViewTree, residuals: IndexedSeq[Residual]) {
  private[this] val counters = tree.counters
  private[this] var weighted = false // some row counts more than once, so that results are products
  private[this] val contexts = new Array[Plan](tree.nodes.length)
  private[this] val full = Plan.full(tree, residuals)
  private[this] val atStart: Array[Array[Residual]] =
    tree.nodes.map(n => residuals.filter(_.relations.forall(r => (n.relations >>> r & 1L) != 0)).toArray)
  private[this] var levels: Array[Level] = full.levels
  private[this] var last = -1
  private[this] var firstLoose = 0 // of `levels`, from where on any order will do
  private[this] var active = false
  private[this] var opened = false

  /** The last level while it needs nothing but its list: its rows count once, and no residuals are asked. */
  private[this] var innermost: Level = null

  /** The level before the innermost one, while there is one and it needs nothing but its list, either, and all rows count once. */
  private[this] var second: Level = null

  val tuples = new Array[Int](tree.nodes.length)
  val places = new Places(tree.shown.places)
  private[this] val ofStart: Array[Array[Long]] =
    tree.nodes.map(n => if (n.words == null) null else new Array[Long](n.words.width))
  private[this] val weights = new Array[Long](tree.nodes.length + 1)
  var changed: Long = 0L

  def weight: Long = if (weighted) weights(last + 1) else weights(0)

  /** The results that contain `tuple` of `node`, each with the weight `base` times the multiplicities of the other rows. */
  def start(node: ViewNode, tuple: Int, base: Long): Unit = {
    if (contexts(node.id) == null) contexts(node.id) = Plan.context(node, residuals)
    tuples(node.id) = tuple
    if (node.words != null) {
      node.words.copy(tuple, ofStart(node.id), 0)
      places.set(node.id, ofStart(node.id), 0)
    }
    val conditions = atStart(node.id)
    open(contexts(node.id), base)
    if (conditions.length > 0 && !conditions.forall(_.accept(tuples))) stop()
  }

  /** All results. */
  def startFull(): Unit = open(full, 1L)

  private def open(plan: Plan, base: Long): Unit = {
    levels = plan.levels
    firstLoose = plan.firstLoose
    last = levels.length - 1
    weights(0) = base
    weighted = tree.plural > 0
    active = true
    opened = false
    innermost = null
    changed = -1L
  }

  /** No more results. */
  def stop(): Unit = {
    active = false
    innermost = null
  }

  def next(): Boolean = {
    val level = innermost
    if (level == null) nextOfAny()
    else {
      changed = 0L
      counters.moves += 1
      if (level.turn()) {
        // the common case: nothing else moves
        bind(level)
        counters.results += 1
        true
      } else if (second == null) advance(last - 1, fresh = false)
      else nextList(level)
    }
  }

  /** The list of the innermost level has ended: the second one turns, and with that the innermost one goes on in another list. */
  private def nextList(level: Level): Boolean = {
    counters.moves += 1
    if (second.turn()) {
      bind(second)
      counters.moves += 1
      if (enter(level)) {
        bind(level)
        counters.results += 1
        true
      } else advance(last - 1, fresh = false)
    } else advance(last - 2, fresh = false)
  }

  /** The current tuple of a level is part of the next result. */
  private def bind(level: Level): Unit = {
    tuples(level.node) = level.tuple
    level.tell(places)
    changed |= level.relations
  }

  /** Puts the result that `next` has just bound into `run`, with `whole` also those that follow it and differ from it in the row of
    * one relation only: `next` goes on behind them.
    */
  def take(run: Run, whole: Boolean): Unit =
    if (innermost == null || !whole) {
      val relation = java.lang.Long.numberOfTrailingZeros(changed)
      run.set(relation, tuples(relation), places, if (ofStart(relation) == null) 0 else ofStart(relation).length)
    } else {
      innermost.take(run)
      counters.moves += run.size - 1
      counters.results += run.size - 1
    }

  private def nextOfAny(): Boolean =
    if (!active) false
    else if (!opened) {
      opened = true
      if (last < 0) { active = false; counters.results += 1; true }
      else {
        if (levels(last).isPlain && areEqual) settleInnermost()
        advance(0, fresh = true)
      }
    } else {
      changed = 0L
      advance(last, fresh = false)
    }

  /** Rows of whichever level is the last one count once, so that results that differ in these only weigh the same. */
  private def areEqual: Boolean = !weighted || {
    var l = math.min(firstLoose, last)
    while (l <= last && levels(l).of.plural == 0) l += 1
    l > last
  }

  private def advance(from: Int, fresh: Boolean): Boolean = {
    var l = from
    var enter = fresh
    var moves = 0L
    while (l >= 0) {
      if (enter && l == firstLoose && l < last) arrange()
      val level = levels(l)
      moves += 1
      if (!(if (enter) this.enter(level) else level.turn())) {
        l -= 1
        enter = false
      } else {
        bind(level)
        if (level.residuals != null && !accepts(level.residuals)) enter = false
        else {
          if (weighted)
            weights(l + 1) = if (level.weights == null) weights(l)
            else Weight.multiply(weights(l), level.weights(tuples(level.node)))
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
    stop()
    false
  }

  private def enter(level: Level): Boolean = {
    val key = keyOf(level)
    if (level.shows != 0L) {
      level.tellKey(key, places)
      changed |= level.shows
    }
    level.enter(key)
  }

  /** Puts the loose levels in ascending order of their lists' lengths: the innermost list, which is walked again for every
    * combination of the others, is the longest, and turns to the others are fewest.
    */
  private def arrange(): Unit = {
    var i = firstLoose + 1
    while (i <= last) {
      val level = levels(i)
      val length = level.length(keyOf(level))
      var at = i
      while (at > firstLoose && levels(at - 1).length(keyOf(levels(at - 1))) > length) {
        levels(at) = levels(at - 1)
        at -= 1
      }
      levels(at) = level
      i += 1
    }
    if (innermost != null) settleInnermost()
  }

  private def settleInnermost(): Unit = {
    innermost = levels(last)
    second = if (last > 0 && !weighted && levels(last - 1).isPlain) levels(last - 1) else null
  }

  private def keyOf(level: Level): Int =
    if (level.source != null) level.source.beside
    else if (level.from < 0) 0
    else if (level.keys == null) tuples(level.from)
    else level.keys(tuples(level.from))

  private def accepts(conditions: Array[Residual]): Boolean = {
    var i = 0
    while (i < conditions.length) {
      if (!conditions(i).accept(tuples)) return false
      i += 1
    }
    true
  }
}
