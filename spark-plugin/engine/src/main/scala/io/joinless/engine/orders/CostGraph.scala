package io.joinless.engine.orders

import java.util.BitSet

/** The expected number of look-ups that complete a combination of bound rows, for every connected
  * set of bound relations, and with it the order in which the others are bound at least cost
  * (algorithms A80). For the triangle R(a,b) ⋈ S(b,c) ⋈ T(c,a), where a row of R has 2 rows in S
  * and 5 in T, and a tenth of the pairs with a row of S has one in T:
  * {{{
  * {R,S,T}     0
  * {R,S}       1 probe of T                          {R,T}       1 probe of S
  * {R}         by S: 2 · (1 + 1 · 1) = 4             by T: 5 · (1 + 1 · 1) = 10
  * }}}
  * In general a node P is a connected set of relations, a step leads from P to P ∪ {T} for a
  * relation T that shares an attribute with P, and
  * {{{
  * cost(P → T) = (1 + share(P, T) · cost(P ∪ {T})) · length(P, T)          cost(P) = min over T
  * }}}
  * where `length(P, T)` is the shortest of the expected lists that lead to T from a relation of P,
  * or their sum, or what a probe finds if P binds all attributes of T; `share(P, T)` is the share
  * of these rows that agrees with all of P. There is one value per set, whatever relation an order
  * began with.
  *
  * ''Incremental'': an increase of a cost can only matter where the step was the best one. There
  * the value is tagged as a lower bound, and so are those above that are computed from it. Exact
  * values are computed when a set is read: its steps in ascending order of their bounds, until the
  * best exact one is at most the next bound. A decrease is computed at once, upwards, as far as
  * values change. Before anything is known lists have the length 0 and shares are 1.
  *
  * Space: O(n · 2^n) for n relations.
  *
  * @param attributesOf the attributes of each relation, as bits
  * @param sums the length is the sum of the lists, not the shortest
  * @param bounds whether increases only tag values; else all values are exact at any time
  */
final class CostGraph(attributesOf: Array[Long], sums: Boolean, bounds: Boolean = true) {
  require(CostGraph.fits(attributesOf), "a graph has up to 12 connected relations")
  private[this] val n = attributesOf.length

  /** By relation: those that share an attribute with it (bit set). */
  private[this] val neighbours: Array[Int] = Array.tabulate(n) { r =>
    CostGraph.bits(attributesOf.indices.filter(s => s != r && (attributesOf(r) & attributesOf(s)) != 0L))
  }

  /** The connected sets, larger ones first, and the number of each. */
  private[this] val sets: Array[Int] = CostGraph.connected(neighbours)
  private[this] val nodeOf: Array[Int] = Array.fill(1 << n)(-1)
  for (node <- sets.indices) nodeOf(sets(node)) = node

  // the steps from a node have consecutive numbers, in ascending order of their relations
  private[this] val firstStep: Array[Int] = sets.scanLeft(0)((sum, set) => sum + Integer.bitCount(around(set)))

  /** The number of steps. */
  val steps: Int = firstStep.last
  private[this] val owners = new Array[Int](steps)
  private[this] val relations = new Array[Int](steps)
  private[this] val children = new Array[Int](steps)
  private[this] val probed = new Array[Boolean](steps) // all attributes of the relation are bound
  for (node <- sets.indices; (r, i) <- CostGraph.members(around(sets(node))).zipWithIndex) {
    owners(firstStep(node) + i) = node
    relations(firstStep(node) + i) = r
    children(firstStep(node) + i) = nodeOf(sets(node) | 1 << r)
    probed(firstStep(node) + i) = isProbed(sets(node), r)
  }

  /** By node: the steps that lead to it. */
  private[this] val above: Array[Array[Int]] = Array.fill(sets.length)(Array.empty[Int])
  for ((node, into) <- children.indices.groupBy(children(_))) above(node) = into.toArray

  private[this] val lists = new Array[Double](n * n)
  private[this] val lengths = new Array[Double](steps)
  private[this] val shares = Array.fill(steps)(1.0)

  // by node; if exact, the value is the cost of the best step, which leads to an exact node
  private[this] val values = new Array[Double](sets.length)
  private[this] val exact = Array.fill(sets.length)(true)
  private[this] val best: Array[Int] = sets.indices.map(firstStep(_)).toArray
  private[this] val read: Array[Int] = Array.fill(sets.length)(-1) // the best step when it was read last
  private[this] val pending = new BitSet(sets.length)

  /** How often the best step of a node was searched for. */
  var searches: Long = 0L

  /** How often a set that was read had another next relation than when it was read before. */
  var reorders: Long = 0L

  /** Whether a connected set binds all attributes of a relation: one probe finds its rows. */
  private def isProbed(bound: Int, next: Int): Boolean =
    CostGraph.members(bound).foldLeft(0L)(_ | attributesOf(_)).&(attributesOf(next)) == attributesOf(next)

  /** The number of the step from a connected set to a relation that it is linked with. */
  def step(bound: Int, next: Int): Int =
    firstStep(nodeOf(bound)) + Integer.bitCount(around(bound) & (1 << next) - 1)

  /** The relations (bit set) that can follow a connected set. */
  def around(bound: Int): Int = {
    var all = 0
    var left = bound
    while (left != 0) {
      all |= neighbours(Integer.numberOfTrailingZeros(left))
      left &= left - 1
    }
    all & ~bound
  }

  /** The connected sets (bit sets), larger ones first. */
  def connectedSets: IndexedSeq[Int] = sets.toIndexedSeq

  /** Sets the expected number of rows of `to` that a row of `from` leads to; with `from = to`, of
    * rows that a probe finds.
    */
  def setLength(from: Int, to: Int, rows: Double): Unit = {
    lists(from * n + to) = rows
    var node = 0
    while (node < sets.length) {
      val set = sets(node)
      if ((set & 1 << to) == 0 && (around(set) & 1 << to) != 0 && (from == to || (set & 1 << from) != 0)) {
        val s = step(set, to)
        val before = lengths(s)
        lengths(s) = if (probed(s)) lists(to * n + to) else length(set, to)
        changed(s, lengths(s) - before)
      }
      node += 1
    }
    compute()
  }

  /** Sets the share of a step's rows that agrees with all bound rows. */
  def setShare(step: Int, share: Double): Unit = {
    val before = shares(step)
    shares(step) = share
    changed(step, share - before)
    compute()
  }

  /** The expected cost of a connected set. */
  def cost(bound: Int): Double = {
    val node = nodeOf(bound)
    makeExact(node)
    values(node)
  }

  /** The relation that follows a connected set at least cost, the first of several; the set is not
    * all relations.
    */
  def next(bound: Int): Int = {
    val node = nodeOf(bound)
    makeExact(node)
    if (read(node) != best(node)) {
      if (read(node) >= 0) reorders += 1
      read(node) = best(node)
    }
    relations(best(node))
  }

  /** What is known of a set's cost without a computation: a value that it is at least. */
  def bound(set: Int): Double = values(nodeOf(set))

  /** Whether that value is the cost. */
  def isExact(set: Int): Boolean = exact(nodeOf(set))

  /** Heap held. */
  def bytes: Long = 8L * (n * n + 2 * steps + sets.length) + 4L * (4 * steps + 5 * sets.length + nodeOf.length) +
    17L * sets.length + steps

  /** Of the lists that lead to a relation: the shortest, or the sum. */
  private def length(set: Int, to: Int): Double = {
    var (shortest, sum) = (Double.PositiveInfinity, 0.0)
    var left = set & neighbours(to)
    while (left != 0) {
      val rows = lists(Integer.numberOfTrailingZeros(left) * n + to)
      shortest = math.min(shortest, rows)
      sum += rows
      left &= left - 1
    }
    if (sums) sum else shortest
  }

  private def costOf(step: Int): Double = (1.0 + shares(step) * values(children(step))) * lengths(step)

  /** Notes that the length or the share of a step has changed by `by`. */
  private def changed(step: Int, by: Double): Unit =
    if (by < 0.0 || by > 0.0 && !bounds) pending.set(owners(step))
    else if (by > 0.0) loosen(step)

  /** A step's cost has increased: what was computed from it becomes a lower bound. */
  private def loosen(step: Int): Unit = {
    val node = owners(step)
    if (exact(node) && best(node) == step) {
      exact(node) = false
      val into = above(node)
      var i = 0
      while (i < into.length) {
        loosen(into(i))
        i += 1
      }
    }
  }

  /** Computes the pending nodes, and those above them as far as values change; larger sets, which
    * have lower numbers, first.
    */
  private def compute(): Unit = {
    var node = pending.nextSetBit(0)
    while (node >= 0) {
      pending.clear(node)
      if (computed(node)) above(node).foreach(step => pending.set(owners(step)))
      node = pending.nextSetBit(node + 1)
    }
  }

  /** Computes a node from what is known of its children; true if those above must follow. */
  private def computed(node: Int): Boolean = {
    val (value, wasExact) = (values(node), exact(node))
    val s = least(node)
    best(node) = s
    values(node) = costOf(s)
    exact(node) = exact(children(s))
    if (bounds) values(node) < value || wasExact && !exact(node) else values(node) != value
  }

  /** The step of least cost, the first of several, as far as it is known. */
  private def least(node: Int): Int = {
    searches += 1
    var found = firstStep(node)
    var cost = costOf(found)
    var s = found + 1
    while (s < firstStep(node + 1)) {
      val other = costOf(s)
      if (other < cost) {
        found = s
        cost = other
      }
      s += 1
    }
    found
  }

  /** Makes the value of a node exact, and those of the children that can be the best one. */
  private def makeExact(node: Int): Unit =
    while (!exact(node)) {
      val s = least(node)
      if (exact(children(s))) {
        best(node) = s
        values(node) = costOf(s)
        exact(node) = true
      } else makeExact(children(s))
    }
}

object CostGraph {

  /** The most relations of a graph. */
  val MaxRelations: Int = 12

  /** Whether relations with these attributes (bit sets) have a graph: they are connected and few. */
  def fits(attributesOf: Array[Long]): Boolean =
    attributesOf.nonEmpty && attributesOf.length <= MaxRelations && {
      var reached = attributesOf(0)
      for (_ <- attributesOf; other <- attributesOf if (other & reached) != 0L) reached |= other
      attributesOf.length == 1 || attributesOf.forall(a => (a & reached) != 0L)
    }

  /** The members of a bit set, in ascending order. */
  private[orders] def members(set: Int): IndexedSeq[Int] = (0 until 32).filter(i => (set >>> i & 1) != 0)

  private def bits(members: Iterable[Int]): Int = members.foldLeft(0)(_ | 1 << _)

  /** The sets that are connected, larger ones first: those of one relation, and those that another
    * relation continues.
    */
  private def connected(neighbours: Array[Int]): Array[Int] = {
    val is = new Array[Boolean](1 << neighbours.length)
    for (set <- 1 until is.length) {
      is(set) = Integer.bitCount(set) == 1 || members(set).exists { r =>
        val rest = set & ~(1 << r)
        is(rest) && (neighbours(r) & rest) != 0
      }
    }
    is.indices.filter(is(_)).sortBy(set => (-Integer.bitCount(set), set)).toArray
  }
}
