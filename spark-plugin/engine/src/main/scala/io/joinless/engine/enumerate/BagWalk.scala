package io.joinless.engine.enumerate

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
  * The order is chosen anew for each combination of bound rows: the relation with the fewest
  * candidates is next. So a value that no other relation has ends the combination at once, and a
  * change of a triangle costs the shorter of two lists, never their product.
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
  }

  /** Chooses the relation that the level `l` binds; the levels before it are bound. */
  def choose(l: Int, tuples: Array[Int]): Unit = {
    if (l > 0) {
      val before = levels(l - 1).nodeId
      boundAttributes(l) = boundAttributes(l - 1)
      boundRelations(l) = boundRelations(l - 1)
      bind(bag.members(before), tuples(before), l)
    }
    var best = l
    var fewest = Int.MaxValue
    var i = l
    while (i < levels.length && fewest > 0) {
      val count = candidates(bag.members(levels(i).nodeId), boundAttributes(l))
      if (count < fewest) {
        best = i
        fewest = count
        chosenLists(l) = foundLists
        chosenKeys(l) = foundKey
      }
      i += 1
    }
    counters.moves += i - l
    val chosen = levels(best)
    levels(best) = levels(l)
    levels(l) = chosen
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
    else if (chosenKeys(l) < 0) false
    else {
      val member = bag.members(level.nodeId)
      val isExact = (lists eq member.all.rows) // all attributes are bound
      val bound = boundAttributes(l)
      var slot = lists.first(chosenKeys(l))
      while (slot != 0) {
        val row = lists.tuple(slot)
        counters.moves += 1
        if (member.has(row) && (isExact || agrees(member, row, bound))) level.offer(row)
        slot = lists.next(slot)
      }
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
      if ((readBy(i) & ~now) == 0L && (readBy(i) & ~before) != 0L && !conditions(i).accept(tuples)) return false
      i += 1
    }
    true
  }
}
