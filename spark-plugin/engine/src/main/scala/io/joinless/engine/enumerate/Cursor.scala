package io.joinless.engine.enumerate

import io.joinless.engine.algebra.Weight
import io.joinless.engine.view.{ViewNode, ViewTree}

/** An odometer over the levels of a binding order: constant delay between results, no recursion,
  * nothing materialised (algorithms A23 to A27).
  *
  * Each level binds one node to a tuple of a list. The list's key is a key of a tuple that an
  * earlier level has bound. The results of the witness S(10,7) of R(a,b) ⋈ S(b,c) ⋈ T(c,d) under
  * the tree [B]{R, S·T}:
  * {{{
  * level  binds  from       list                        turns
  * 0      T      S(10,7)    V_s of T under the key 7    (7,6)
  * 1      R      S(10,7)    V_s of R under the key 10   (1,10)   then (2,10)
  *                                                      └─ (1,10,7,6)  └─ (2,10,7,6)
  * }}}
  * No tuple of [B] is bound: R is found under the key that S has towards it ([[BindingOrder]]). The
  * innermost level advances for every result. Its list lies in contiguous pieces of memory. The
  * results of a piece are a ''run'', which `take` returns as a whole. If a level's list ends, the
  * level before it advances. T and R read only tuples that are bound already, and no other level
  * reads theirs. Such ''loose'' levels are ordered by the lengths of their lists each time they are
  * entered, the longest innermost.
  *
  * In a bag no level's list is known before: the relation that the next level binds, and its
  * candidates, are chosen when it is entered ([[BagWalk]]).
  *
  * Invariant, but for bags: no list is empty (except the root's, if there is no result at all),
  * since going up follows live tuples and going down alive ones. So each combination bound down to
  * the last level is a result, if the residuals accept it. Cost: without residuals, at most two
  * moves per level between two results; with residuals, between two combinations. The tree must not
  * change during the enumeration.
  *
  * After `next()` has returned true, `tuples(r)` is the row of relation r. `changed` has a bit for
  * each relation whose row may differ from that of the previous result, and for each pointer to
  * projected words ([[WordPointers]]) that may differ. `weight` is the product of the rows'
  * multiplicities and the base.
  */
final private[engine] class Cursor(tree: ViewTree, residuals: IndexedSeq[Residual]) {
  private[this] val counters = tree.counters
  private[this] var weighted = false // some row has a multiplicity > 1, so weights are products
  private[this] val contexts = new Array[BindingOrder](tree.nodes.length)
  private[this] val underKeys = new Array[BindingOrder](tree.nodes.length)
  private[this] val full = BindingOrder.full(tree, residuals)

  /** Per node, the residuals that read only what its tuple binds: evaluated once, by `start`. */
  private[this] val startResiduals: Array[Array[Residual]] =
    tree.nodes.map(n => residuals.filter(_.relations.forall(r => (n.relations >>> r & 1L) != 0)).toArray)
  private[this] var levels: Array[Level] = full.levels
  private[this] var bag: BagWalk = null // chooses the order of the levels, in a bag
  private[this] var last = -1
  private[this] var firstLoose = 0 // index into `levels`; the levels from here on are loose
  private[this] var active = false // there may be further results
  private[this] var startKey = 0 // the key of the first level's list, if no bound tuple has it
  private[this] var entered = false // the first level was entered, by the first call of `next`

  /** The last level, if its list alone determines the results: its rows count once, and no residual
    * is evaluated there. Else null.
    */
  private[this] var innermost: Level = null

  /** The level before the innermost one, if its list alone determines its tuples, too, and all rows
    * count once. Else null.
    */
  private[this] var second: Level = null

  val tuples = new Array[Int](tree.nodes.length)
  val pointers = new WordPointers(tree.locations.pointers)

  /** Per node, the projected words of the tuple that `start` binds, which is in no level's list. */
  private[this] val startWords: Array[Array[Long]] =
    tree.nodes.map(n => if (n.words == null) null else new Array[Long](n.words.width))
  private[this] val weights = new Array[Long](tree.nodes.length + 1)
  var changed: Long = 0L

  def weight: Long = if (weighted) weights(last + 1) else weights(0)

  /** Starts the enumeration of the results that contain `tuple` of `node`. Each has the weight
    * `base` times the multiplicities of the other rows.
    */
  def start(node: ViewNode, tuple: Int, base: Long): Unit = {
    if (contexts(node.id) == null) contexts(node.id) = BindingOrder.context(tree, node, residuals)
    tuples(node.id) = tuple
    if (node.words != null) {
      node.words.copy(tuple, startWords(node.id), 0)
      pointers.set(node.id, startWords(node.id), 0)
    }
    val conditions = startResiduals(node.id)
    open(contexts(node.id), base)
    if (conditions.length > 0 && !conditions.forall(_.accept(tuples))) stop()
  }

  /** Starts the enumeration of all results. */
  def startFull(): Unit = {
    startKey = 0
    open(full, 1L)
  }

  /** Starts the enumeration of the results under a live key of the node's edge to its parent. */
  def startUnder(node: ViewNode, key: Int): Unit = {
    if (underKeys(node.id) == null) underKeys(node.id) = BindingOrder.underKey(tree, node, residuals)
    startKey = key
    open(underKeys(node.id), 1L)
  }

  /** Prepares the enumeration in an order; the first `next` enters its levels. */
  private def open(order: BindingOrder, base: Long): Unit = {
    levels = order.levels
    bag = order.bag
    if (bag != null) bag.begin(tuples)
    firstLoose = order.firstLoose
    last = levels.length - 1
    weights(0) = base
    weighted = tree.repeated > 0
    active = true
    entered = false
    innermost = null
    changed = -1L
  }

  /** Ends the enumeration. */
  def stop(): Unit = {
    active = false
    innermost = null
  }

  /** Moves to the next result; false if there is none left. */
  def next(): Boolean = {
    val level = innermost
    if (level == null) nextOfAny()
    else {
      changed = 0L
      counters.moves += 1
      if (level.advance()) {
        // the common case: no other level moves
        bind(level)
        counters.results += 1
        true
      } else if (second == null) advance(last - 1, fresh = false)
      else nextList(level)
    }
  }

  /** The list of the innermost level has ended: advances the second level, and enters the innermost
    * level's next list.
    */
  private def nextList(level: Level): Boolean = {
    counters.moves += 1
    if (second.advance()) {
      bind(second)
      counters.moves += 1
      if (enter(level)) {
        bind(level)
        counters.results += 1
        true
      } else advance(last - 1, fresh = false)
    } else advance(last - 2, fresh = false)
  }

  /** Makes the current tuple of a level part of the next result. */
  private def bind(level: Level): Unit = {
    tuples(level.nodeId) = level.tuple
    level.setWords(pointers)
    changed |= level.relations
  }

  /** Puts the result that `next` has just bound into `run`. With `whole`, adds the following
    * results that differ from it only in the row of one relation; `next` continues after them.
    */
  def take(run: Run, whole: Boolean): Unit =
    if (innermost == null || !whole) {
      val relation = java.lang.Long.numberOfTrailingZeros(changed)
      val words = startWords(relation)
      run.set(relation, tuples(relation), pointers, if (words == null) 0 else words.length)
    } else {
      innermost.take(run)
      counters.moves += run.size - 1
      counters.results += run.size - 1
    }

  /** As `next`, for an order whose innermost list does not alone determine the results, or whose
    * levels are not entered yet.
    */
  private def nextOfAny(): Boolean =
    if (!active) false
    else if (!entered) {
      entered = true
      if (last < 0) { active = false; counters.results += 1; true }
      else {
        if ((if (bag == null) levels(last).isPlain else bag.isPlain) && lastRowsCountOnce) chooseInnermost()
        advance(0, fresh = true)
      }
    } else {
      changed = 0L
      advance(last, fresh = false)
    }

  /** Whether the rows of every level that can become the last one count once. Then results that
    * differ only in the last level's row have the same weight.
    */
  private def lastRowsCountOnce: Boolean = !weighted || {
    var l = math.min(firstLoose, last)
    while (l <= last && levels(l).node.repeated == 0) l += 1
    l > last
  }

  /** Finds the next result: goes on at level `from`, where it enters the list if `fresh`, and else
    * moves to the list's next tuple. From a tuple that is accepted it enters the next level. At the
    * end of a list it goes back one level. False if the first level's list has ended.
    */
  private def advance(from: Int, fresh: Boolean): Boolean = {
    var l = from
    var entering = fresh
    var moves = 0L
    while (l >= 0) {
      if (entering && (bag != null || l == firstLoose && l < last)) order(l)
      val level = levels(l)
      moves += 1
      if (!(if (!entering) level.advance() else if (bag == null) enter(level) else bag.enter(l))) {
        l -= 1
        entering = false
      } else {
        bind(level)
        if (!isAccepted(level, l)) entering = false
        else {
          if (weighted)
            weights(l + 1) = if (level.weights == null) weights(l)
            else Weight.multiply(weights(l), level.weights(tuples(level.nodeId)))
          if (l == last) {
            counters.moves += moves
            counters.results += 1
            return true
          }
          l += 1
          entering = true
        }
      }
    }
    counters.moves += moves
    stop()
    false
  }

  /** Orders the levels from `l` on, which is entered next. */
  private def order(l: Int): Unit = {
    if (bag == null) arrange() else bag.choose(l, tuples)
    if (innermost != null) chooseInnermost()
  }

  /** Whether the conditions that can be evaluated once `level`, the l-th one, is bound accept its
    * tuple.
    */
  private def isAccepted(level: Level, l: Int): Boolean =
    if (bag == null) level.residuals == null || accepts(level.residuals) else bag.accepts(l, tuples)

  /** Enters the level's list under the key that the bound tuples have for it. False if the list is
    * empty.
    */
  private def enter(level: Level): Boolean = {
    val key = keyOf(level)
    if (level.setsOnEntry != 0L) {
      level.setKeyWords(key, pointers)
      changed |= level.setsOnEntry
    }
    level.enter(key)
  }

  /** Sorts the loose levels in ascending order of their lists' lengths. The innermost list is
    * walked again for every combination of the others. If it is the longest, the other lists are
    * advanced least often.
    */
  private def arrange(): Unit = {
    var i = firstLoose + 1
    while (i <= last) {
      val level = levels(i)
      val length = level.length(keyOf(level))
      var free = i // the free position, moved down
      while (free > firstLoose && levels(free - 1).length(keyOf(levels(free - 1))) > length) {
        levels(free) = levels(free - 1)
        free -= 1
      }
      levels(free) = level
      i += 1
    }
  }

  private def chooseInnermost(): Unit = {
    innermost = levels(last)
    second = if (bag == null && last > 0 && !weighted && levels(last - 1).isPlain) levels(last - 1) else null
  }

  /** The key of the level's list: inlined with the tuple of an earlier level, read from its
    * memoized keys, or that tuple itself. For a level that starts from no tuple, the key of the
    * start.
    */
  private def keyOf(level: Level): Int =
    if (level.source != null) level.source.inlinedKey
    else if (level.from < 0) startKey
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
