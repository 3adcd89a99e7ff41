package io.joinless.engine.reduce

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{IntLists, PagedBytes, Words}
import io.joinless.engine.view.BagIndexes.{BagMember, RowsByKey}
import io.joinless.engine.view.{Annotation, BagIndexes, Counters, ViewTree}

/** The sum over all triangles of R(a,b) ⋈ S(b,c) ⋈ T(c,a), changed in O(√N) amortised steps per
  * change of a row: IVM^ε with ε = 1/2 (algorithms A79).
  *
  * A change of R(a,b) needs Σ_c S(b,c) · T(c,a): the paths from b to a. A value of the first column
  * of a relation is ''heavy'' if many rows have it, else ''light'', and the paths through a heavy b
  * of S and a light c of T are kept added up:
  * {{{
  * V_R(b,a) = Σ_c S(b,c) · T(c,a)      b heavy in S, c light in T       (V_S, V_T: likewise)
  *
  *                     steps for the change of R(a,b)
  * rows of S with b    few if b is light
  * rows of T with a    few by chance
  * V_R(b,a), then S(b,c) · T(c,a) for each heavy c of T: there are few
  * }}}
  * The cheapest of the three is taken, so that where no value is heavy a change costs the shorter
  * of two lists, as an intersection does. Then the two views that read the row are changed: a heavy
  * first value adds its row times the rows of one light value; a light one adds it times the rows
  * of heavy values that lead to it.
  *
  * With N rows in all and N < M ≤ 4N + 16: a value is heavy from 1.5 √M rows on until it has fewer
  * than 0.5 √M. When it crosses that border its rows move between the views, and when N does, all
  * values are sorted anew.
  *
  * Relations that are roles of one input share its lists. A value is then heavy or light in all of
  * them, by the rows of all.
  *
  * Invariant, after each change: the views are these sums over the linked rows; `isHeavy` is as
  * above. Space: linear, plus a pair of each view with a path: at most O(N^1.5), none where no
  * value is heavy.
  *
  * ''Totals per key'': keys are one or two of the vertices a, b, c. A change of a row that has them
  * costs the same. One of a row that has not walks the shorter list: each path is of another key.
  * Its relation has no view.
  *
  * @param top the three relations as a bag: its indexes are the lists and probes
  * @param elements by relation the element of each of its rows
  */
final private[reduce] class CycleSums(
    top: ViewTree,
    elements: IndexedSeq[Annotation],
    val keys: CycleKeys,
    ring: Ring,
    counters: Counters
) {
  private[this] val bag: BagIndexes = top.bag
  private[this] val sides: Array[Side] = Array.tabulate(3)(new Side(_))
  private[this] val sum = new Array[Long](ring.width)
  private[this] val term = new Array[Long](ring.width)
  private[this] val opposite = new Array[Long](ring.width)

  private[this] var rows = 0L // linked rows of all three
  private[this] var capacity = CycleSums.Least // M
  private[this] var manyRows, fewRows = 0.0 // of a value that becomes heavy, that becomes light
  setBorders()

  /** Adds the changes of the totals to `totals`, and brings the views up to date with the change
    * `delta` of the row's element. The row is linked, and the element is as before the change.
    */
  def change(relation: Int, row: Int, delta: Array[Long], totals: KeyedChanges): Unit = {
    val side = sides(relation)
    if (side.walks) eachPath(side, row) { (first, second) =>
      Words.copy(delta, 0, term, 0, term.length)
      side.next.multiply(term, first)
      side.previous.multiply(term, second)
      totals.add(key(0, side, row, first), key(1, side, row, first), keyRow(side, row, first, second), term)
    }
    else {
      addPaths(side, row)
      if (!ring.isEmpty(sum, 0)) {
        ring.multiply(sum, delta, 0)
        totals.add(key(0, side, row, -1), key(1, side, row, -1), keyRow(side, row, -1, -1), sum)
      }
    }
    changeViews(side, row, delta)
  }

  /** The i-th key of the triangles of a row, and of a row of the next relation, −1 if no key is
    * theirs; 0 if there are fewer keys.
    */
  private def key(i: Int, side: Side, row: Int, next: Int): Int =
    if (i >= keys.vertices.length) 0
    else
      (keys.vertices(i) - side.relation + 3) % 3 match {
        case 0 => side.first(row)
        case 1 => side.second(row)
        case _ => side.next.second(next)
      }

  /** A row of the relation `keys.relation` that has the keys of the triangles of these rows, which
    * are −1 where the keys are those of `row`.
    */
  private def keyRow(side: Side, row: Int, next: Int, previous: Int): Int =
    if (keys.vertices.isEmpty || keys.relation == side.relation) row
    else if (keys.relation == side.next.relation)
      if (next >= 0) next else side.next.byFirst.rows.tuple(side.next.byFirst.rows.first(side.second(row)))
    else if (previous >= 0) previous
    else side.previous.bySecond.rows.tuple(side.previous.bySecond.rows.first(side.first(row)))

  /** Calls `f` with the rows of the next relation and of the one before of each triangle of a row. */
  private def eachPath(side: Side, row: Int)(f: (Int, Int) => Unit): Unit = {
    val (s, t) = (side.next, side.previous)
    val (from, to) = (side.second(row), side.first(row))
    if (s.byFirst.rows.count(from) <= t.bySecond.rows.count(to)) s.eachFrom(from) { first =>
      val second = t.find(s.second(first), to)
      counters.steps += 1
      if (second >= 0) f(first, second)
    }
    else
      t.eachTo(to) { second =>
        val first = s.find(from, t.first(second))
        counters.steps += 1
        if (first >= 0) f(first, second)
      }
  }

  /** Sorts the row's first value and, where the number of rows has changed by much, all values. The
    * row was linked, or unlinked, and its element is that after the change.
    *
    * @param change 1 if the row was linked, −1 if it was unlinked
    */
  def settle(relation: Int, row: Int, change: Int): Unit = {
    val side = sides(relation)
    val value = side.first(row)
    rows += change
    if (rows >= capacity) resize(2 * capacity)
    else if (rows < capacity / 4 && capacity > CycleSums.Least) resize(capacity / 2)
    else {
      val length = side.byFirst.rows.count(value)
      for (alike <- sides if alike.byFirst eq side.byFirst)
        if (alike.isHeavy(value)) { if (length < fewRows) move(alike, value, heavy = false) }
        else if (length >= manyRows) move(alike, value, heavy = true)
    }
  }

  /** Whether nothing is stored. */
  def isEmpty: Boolean = sides.forall(s => s.paths.size == 0 && s.heavies == 0)

  /** Heap held, without that of the top. */
  def bytes: Long = sides.iterator.map(_.bytes).sum

  /** The heavy values of each relation, and the pairs of its view. */
  def sizes: IndexedSeq[(Int, Int)] = sides.toIndexedSeq.map(s => (s.heavies, s.paths.size))

  /** Sets `sum` to the sum over all paths that close a triangle with a row. */
  private def addPaths(side: Side, row: Int): Unit = {
    val (s, t) = (side.next, side.previous)
    val (from, to) = (side.second(row), side.first(row))
    def addPath(first: Int, second: Int): Unit = {
      s.read(first, term)
      t.multiply(term, second)
      ring.add(sum, 0, term, 0)
    }
    java.util.Arrays.fill(sum, 0L)
    val shorter = math.min(s.byFirst.rows.count(from), t.bySecond.rows.count(to))
    if (!s.isHeavy(from) || shorter <= 1 + t.heavies) eachPath(side, row)(addPath)
    else {
      counters.steps += 1
      side.paths.addTo(sum, from, to)
      t.eachHeavy { value =>
        counters.steps += 1
        val first = s.find(from, value)
        val second = if (first < 0) -1 else t.find(value, to)
        if (second >= 0) addPath(first, second)
      }
    }
  }

  /** Adds the change `delta` of the row's element to the view that reads it: as a row of a heavy
    * first value, or of a light one.
    */
  private def changeViews(side: Side, row: Int, delta: Array[Long]): Unit = {
    val (first, second) = (side.first(row), side.second(row))
    if (side.isHeavy(first)) {
      val t = side.next
      if (!side.previous.walks && !t.isHeavy(second)) t.eachFrom(second) { other =>
        add(side.previous.paths, first, t.second(other), delta, t, other)
      }
    } else {
      val s = side.previous
      if (!side.next.walks && s.heavies > 0) {
        if (s.bySecond.rows.count(first) <= s.heavies) s.eachTo(first) { other =>
          if (s.isHeavy(s.first(other))) add(side.next.paths, s.first(other), second, delta, s, other)
          else counters.steps += 1
        }
        else
          s.eachHeavy { value =>
            val other = s.find(value, first)
            if (other < 0) counters.steps += 1 else add(side.next.paths, value, second, delta, s, other)
          }
      }
    }
  }

  /** Adds `delta`, times the element of a row, to a pair of a view. */
  private def add(paths: PairElements, from: Int, to: Int, delta: Array[Long], of: Side, row: Int): Unit = {
    counters.steps += 1
    Words.copy(delta, 0, term, 0, term.length)
    of.multiply(term, row)
    if (!Annotation.isZero(term)) paths.add(from, to, term)
  }

  /** Makes a first value heavy or light: its rows leave the view of one kind, and join the other. */
  private def move(side: Side, value: Int, heavy: Boolean): Unit = {
    side.eachFrom(value) { row =>
      side.read(row, opposite)
      ring.scale(opposite, -1L)
      changeViews(side, row, opposite)
    }
    side.setHeavy(value, heavy)
    side.eachFrom(value) { row =>
      side.read(row, opposite)
      changeViews(side, row, opposite)
    }
  }

  /** Sets M, and sorts all values anew. */
  private def resize(size: Long): Unit = {
    capacity = math.max(size, CycleSums.Least)
    setBorders()
    sides.foreach(_.sort(math.sqrt(capacity.toDouble)))
    for (side <- sides) side.eachHeavy { value =>
      side.eachFrom(value) { row =>
        side.read(row, opposite)
        changeViews(side, row, opposite)
      }
    }
  }

  private def setBorders(): Unit = {
    manyRows = 1.5 * math.sqrt(capacity.toDouble)
    fewRows = 0.5 * math.sqrt(capacity.toDouble)
  }

  /** A relation of the cycle, between those whose values it leads from and to. */
  final private class Side(val relation: Int) {
    private[this] val member: BagMember = bag.members(relation)
    private[this] val element: Annotation = elements(relation)
    private[this] val ids = new Array[Int](bag.attributes)
    private[this] val buffer = new Array[Long](bag.attributes)
    private[this] val heavy = new PagedBytes
    private[this] val heavyValues = new IntLists(removable = true)
    private[this] val firstAttribute = shared((relation + 2) % 3)
    private[this] val secondAttribute = shared((relation + 1) % 3)

    /** The rows by their values in the first and in the second column. */
    val byFirst: RowsByKey = member.single(member.attributes.indexOf(firstAttribute))
    val bySecond: RowsByKey = member.single(member.attributes.indexOf(secondAttribute))

    /** Calls `f` with each row of the relation that has this first, or this second value. */
    @inline def eachFrom(value: Int)(f: Int => Unit): Unit =
      byFirst.rows.foreach(value)(row => if (member.has(row)) f(row) else counters.steps += 1)
    @inline def eachTo(value: Int)(f: Int => Unit): Unit =
      bySecond.rows.foreach(value)(row => if (member.has(row)) f(row) else counters.steps += 1)

    /** Each path of a row is of another key, so no view is read, nor kept. */
    val walks: Boolean = keys.has(relation + 2)

    /** The view that a change of this relation reads. */
    val paths = new PairElements(ring)

    def next: Side = sides((relation + 1) % 3)
    def previous: Side = sides((relation + 2) % 3)

    /** The attribute that the relation shares with another one. */
    private def shared(other: Int): Int = {
      val common = member.attributes.filter(bag.members(other).attributes.contains(_))
      require(common.length == 1, "two relations of the cycle share one attribute")
      common(0)
    }

    /** The ids of a linked row's values. */
    def first(row: Int): Int = byFirst.keys.noted(row)
    def second(row: Int): Int = bySecond.keys.noted(row)

    /** The row of the relation with these values; −1 if none is linked. */
    def find(first: Int, second: Int): Int = {
      ids(firstAttribute) = first
      ids(secondAttribute) = second
      val key = member.find(ids, buffer)
      if (key < 0 || member.all.rows.isEmpty(key)) -1
      else {
        val row = member.all.rows.tuple(member.all.rows.first(key))
        if (member.has(row)) row else -1
      }
    }

    /** Reads the element of a linked row, or multiplies another one by it. */
    def read(row: Int, into: Array[Long]): Unit = element.readPresent(row, into)
    def multiply(into: Array[Long], row: Int): Unit = ring.multiply(into, element.page(row), element.at(row))

    /** Whether a first value is heavy. */
    def isHeavy(value: Int): Boolean = heavy(value) != 0

    /** The number of heavy values. */
    def heavies: Int = heavyValues.count(0)

    @inline def eachHeavy(f: Int => Unit): Unit = heavyValues.foreach(0)(f)

    def setHeavy(value: Int, isHeavy: Boolean): Unit = {
      heavy(value) = if (isHeavy) 1 else 0
      if (isHeavy) heavyValues.push(0, value) else heavyValues.remove(0, value)
    }

    /** Makes exactly the values of at least `border` rows heavy, and empties the view. */
    def sort(border: Double): Unit = {
      paths.clear()
      var value = 0
      while (value < byFirst.keys.limit) {
        val many = byFirst.rows.count(value) >= border
        if (many != isHeavy(value)) setHeavy(value, many)
        value += 1
      }
    }

    def bytes: Long = paths.bytes + heavy.bytes + heavyValues.bytes
  }
}

private[reduce] object CycleSums {

  /** The least M: below it no value is worth a view. */
  val Least: Long = 16L
}
