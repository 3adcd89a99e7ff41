package io.joinless.engine.enumerate

import io.joinless.engine.orders.OrderChoice
import io.joinless.engine.tuples.IntLists
import io.joinless.engine.view.BagIndexes.BagMember
import io.joinless.engine.view.{BagIndexes, ViewTree}

/** Binds the relations of a bag one after the other, each to the rows that agree with all rows that
  * are bound already. From the row R(1,2) of the triangle R(a,b) ⋈ S(b,c) ⋈ T(c,a):
  * {{{
  *          S by b = 2     T by a = 1
  * rows     5,000          3              T is bound next: each of its rows binds c
  *          S by (b,c)                    then S, by one probe for each
  * }}}
  * A relation of which all attributes are bound is probed at once. If it has one row, this is
  * bound; if it has none, the combination ends. Otherwise the next relation is the tree's
  * `OrderChoice`: by default the one with the fewest candidates under the rows that are bound. So
  * a value that no other relation has ends the combination at once, and a change of a triangle
  * costs the shorter of two lists, never their product.
  *
  * Candidates are the shortest list among those of the relation's bound attributes, without the
  * rows that differ in another one. If all of its attributes are bound, they are found by one
  * probe.
  *
  * @param levels of the relations to bind, in any order; those behind the level that is entered are
  *   reordered
  * @param start the relation whose row is bound before the first level; −1 if there is none
  */
final private[enumerate] class BagWalk(
    tree: ViewTree,
    val levels: Array[Level],
    start: Int,
    residuals: IndexedSeq[Residual]
) {
  private[this] val bag: BagIndexes = tree.bag
  private[this] val counters = tree.counters
  private[this] val conditions = residuals.toArray
  private[this] val readBy: Array[Long] = conditions.map(_.relationSet)

  /** The id of each bound attribute's value. */
  private[this] val ids = new Array[Int](bag.attributes)
  private[this] val buffer = new Array[Long](bag.attributes)

  // before each level: the attributes and the relations (bit sets) that are bound
  private[this] val boundAttributes = new Array[Long](levels.length + 1)
  private[this] val boundRelations = new Array[Long](levels.length + 1)

  // the list chosen for each level; null for all rows of the relation
  private[this] val chosenLists = new Array[IntLists](levels.length)
  private[this] val chosenKeys = new Array[Int](levels.length)

  // orders that adapt, or are fixed; null if there are none
  private[this] val orders = tree.orders
  private[this] val fixed: IndexedSeq[IndexedSeq[Int]] = tree.orderChoice match {
    case OrderChoice.Fixed(all) => all
    case _ => null
  }
  private[this] val report = if (orders == null || start < 0) null else new WalkReport(orders, levels.length)
  private[this] var isRandom = false // this walk has a random order

  // the lengths of the lists that `candidates` has looked up, by bound attribute
  private[this] val lengths = new Array[Int](bag.attributes)

  // the relation that `choose` has found: its position among the levels, and its candidates
  private[this] var best = 0
  private[this] var fewest = 0

  // the list that `candidates` has found
  private[this] var foundLists: IntLists = null
  private[this] var foundKey = 0

  /** Whether every row that a level binds is part of as many results as the following levels find.
    */
  val isPlain: Boolean = conditions.isEmpty

  /** Begins with the bound row of the relation `start`, if there is one. */
  def begin(tuples: Array[Int]): Unit = {
    boundAttributes(0) = 0L
    boundRelations(0) = 0L
    if (start >= 0) bind(bag.members(start), tuples(start), 0)
    isRandom = report != null && report.begin()
  }

  /** Chooses the relation that the level `l` binds; the levels before it are bound. */
  def choose(l: Int, tuples: Array[Int]): Unit = {
    if (l > 0) {
      val before = levels(l - 1).nodeId
      boundAttributes(l) = boundAttributes(l - 1)
      boundRelations(l) = boundRelations(l - 1)
      bind(bag.members(before), tuples(before), l)
    }
    if (report != null) report.complete(l)
    best = l
    fewest = Int.MaxValue
    probe(l)
    if (fewest > 1) {
      val next = nextByOrder(l)
      if (next < 0) chooseFewest(l) else chooseNext(l, next)
    }
    val chosen = levels(best)
    levels(best) = levels(l)
    levels(l) = chosen
  }

  /** Looks at the relations of which all attributes are bound, until one has at most one row. */
  private def probe(l: Int): Unit = {
    var i = l
    while (i < levels.length && fewest > 1) {
      if (isClosed(i, l)) {
        val count = lookUp(i, l)
        if (report != null) orders.sawProbe(levels(i).nodeId, count)
        if (count < fewest) take(i, l, count)
      }
      i += 1
    }
  }

  /** Takes the relation with the fewest candidates; the closed ones have been looked at. */
  private def chooseFewest(l: Int): Unit = {
    var i = l
    while (i < levels.length && fewest > 0) {
      if (!isClosed(i, l)) {
        val count = lookUp(i, l)
        if (count < fewest) take(i, l, count)
      }
      i += 1
    }
  }

  /** Takes the relation `next`. If the order is random, others that could be next are looked at,
    * too, for the averages of their lengths.
    */
  private def chooseNext(l: Int, next: Int): Unit = {
    var i = l
    while (i < levels.length) {
      val id = levels(i).nodeId
      val isNext = id == next
      if (isNext || isRandom && !isClosed(i, l) && (bag.members(id).attributeSet & boundAttributes(l)) != 0L) {
        val count = lookUp(i, l)
        if (report != null && !isClosed(i, l)) orders.sawLists(boundRelations(l), id, lengths)
        if (isNext) take(i, l, count)
      }
      i += 1
    }
  }

  /** The relation that the order in force has next; −1 if there is no order, or it has no relation
    * with a bound attribute.
    */
  private def nextByOrder(l: Int): Int =
    if (boundAttributes(l) == 0L || orders == null && fixed == null) -1
    else if (orders == null) {
      val order = fixed(if (start >= 0) start else levels(0).nodeId)
      order.find { r =>
        (boundRelations(l) >>> r & 1L) == 0L && (bag.members(r).attributeSet & boundAttributes(l)) != 0L
      }.getOrElse(-1)
    } else if (l == levels.length - 1) levels(l).nodeId // no choice is left
    else if (isRandom) orders.anyNext(boundRelations(l))
    else {
      val next = orders.next(boundRelations(l))
      counters.reorders = orders.graph.reorders
      next
    }

  /** Whether all attributes of a level's relation are bound before the level `l`. */
  private def isClosed(i: Int, l: Int): Boolean =
    (bag.members(levels(i).nodeId).attributeSet & ~boundAttributes(l)) == 0L

  private def lookUp(i: Int, l: Int): Int = {
    counters.moves += 1
    counters.lookups += 1
    candidates(bag.members(levels(i).nodeId), boundAttributes(l))
  }

  /** Makes a relation the next one, by the list that was looked up last. */
  private def take(i: Int, l: Int, count: Int): Unit = {
    best = i
    fewest = count
    chosenLists(l) = foundLists
    chosenKeys(l) = foundKey
  }

  /** Adds a relation's attributes and itself to those that are bound before the level `l`. */
  private def bind(member: BagMember, row: Int, l: Int): Unit = {
    var i = 0
    while (i < member.attributes.length) {
      val x = member.attributes(i)
      if ((boundAttributes(l) >>> x & 1L) == 0L) ids(x) = member.single(i).keys.noted(row)
      i += 1
    }
    boundAttributes(l) |= member.attributeSet
    boundRelations(l) |= 1L << member.relation
  }

  /** How many rows the shortest list of the relation's bound attributes has; notes the list. A
    * relation without bound attributes comes last, and is reached from the first one that it is
    * linked with.
    */
  private def candidates(member: BagMember, bound: Long): Int = {
    val known = member.attributeSet & bound
    foundLists = null
    if (known == 0L) { if (tree.relation(member.relation).vs == null) Int.MaxValue else Int.MaxValue - 1 }
    else if (known == member.attributeSet) {
      foundLists = member.all.rows
      foundKey = member.find(ids, buffer)
      if (foundKey < 0) 0 else foundLists.count(foundKey)
    } else {
      var fewest = Int.MaxValue
      var i = 0
      while (i < member.attributes.length) {
        val x = member.attributes(i)
        if ((known >>> x & 1L) != 0L) {
          val lists = member.single(i).rows
          val count = lists.count(ids(x))
          lengths(x) = count
          if (count < fewest) {
            fewest = count
            foundLists = lists
            foundKey = ids(x)
          }
        }
        i += 1
      }
      fewest
    }
  }

  /** Binds the level `l`, for which `choose` was called, to its first candidate; false if there is
    * none.
    */
  def enter(l: Int): Boolean = {
    val level = levels(l)
    val lists = chosenLists(l)
    if (lists == null) level.enter(0)
    else if (chosenKeys(l) < 0) {
      if (report != null) report.entered(l, boundRelations(l), level.nodeId, candidates = 1, agree = 0)
      false
    } else {
      val member = bag.members(level.nodeId)
      val isExact = (lists eq member.all.rows) // all attributes are bound
      val bound = boundAttributes(l)
      var slot = lists.first(chosenKeys(l))
      var rows, agreeing = 0
      while (slot != 0) {
        val row = lists.tuple(slot)
        rows += 1
        if (member.has(row) && (isExact || agrees(member, row, bound))) { level.offer(row); agreeing += 1 }
        slot = lists.next(slot)
      }
      counters.moves += rows
      if (report != null)
        report.entered(l, boundRelations(l), level.nodeId, if (isExact) math.max(rows, 1) else rows, agreeing)
      level.enterOffered()
    }
  }

  /** Whether a row has the values of all bound attributes. */
  private def agrees(member: BagMember, row: Int, bound: Long): Boolean = {
    var i = 0
    while (i < member.attributes.length) {
      val x = member.attributes(i)
      if ((bound >>> x & 1L) != 0L && member.single(i).keys.noted(row) != ids(x)) return false
      i += 1
    }
    true
  }

  /** Whether the conditions accept the bound rows that the level `l` is the last one to bind. */
  def accepts(l: Int, tuples: Array[Int]): Boolean = {
    val before = boundRelations(l)
    val now = before | 1L << levels(l).nodeId
    var i = 0
    while (i < conditions.length) {
      if ((readBy(i) & ~now) == 0L && (readBy(i) & ~before) != 0L && !conditions(i).accept(tuples)) {
        if (report != null) report.rejected(l)
        return false
      }
      i += 1
    }
    true
  }
}
