package io.joinless.engine.positions

import io.joinless.engine.algebra.Wide
import io.joinless.engine.tuples.{IntStack, TouchedTuples}
import io.joinless.engine.view.{RelationViews, ViewNode, ViewTree}

/** Finds the results at given positions of a [[Space]]: node by node from the root, many positions
  * at once (algorithms A59).
  *
  * At a node, the positions are sorted by the key under which they are; each list is walked once,
  * for all positions that fall into it. Then each position is split into those under the tuple's
  * keys towards the children.
  *
  * Cost: O(positions · log positions) per node, and the lengths of the lists that are visited.
  * Memory: five words per position and node.
  */
final private[engine] class Descent(tree: ViewTree, space: Space) {
  private[this] val parentsFirst: Array[ViewNode] = tree.childrenFirst.reverse
  private[this] val orders: Array[TupleOrder] = tree.nodes.map(new TupleOrder(_))
  private[this] val pending = new Array[Descent.Pending](tree.nodes.length)
  private[this] val list = new OrderedList(space)
  private[this] val digits = new Digits(tree.nodes.iterator.map(_.childCount).max)
  private[this] val position = new Wide

  /** Finds results of all that are in a part.
    *
    * @param positions in ascending order
    */
  def locate(part: Int, positions: PositionList): Located = {
    val root = tree.root
    descend(positions.size) { located =>
      list.load(root, orders(root.id), part, root.vs, 0)
      placeInList(part, located, positions)
    }
  }

  /** Finds results among those of some tuples of the root: positions are those under these tuples.
    */
  def locate(part: Int, positions: PositionList, among: TouchedTuples): Located =
    descend(positions.size) { located =>
      list.load(tree.root, orders(tree.root.id), part, among.size, among(_))
      placeInList(part, located, positions)
    }

  /** Finds a result under each of some tuples of the root: the i-th at the i-th position among those
    * of the i-th tuple. Tuples and positions are in any order.
    */
  def locateUnder(part: Int, tuples: IntStack, positions: PositionList): Located =
    descend(positions.size) { located =>
      var i = 0
      while (i < positions.size) {
        positions.read(i, position)
        bind(tree.root, tuples(i), part, i, located)
        i += 1
      }
    }

  /** Finds results, node after node from the root.
    *
    * @param place binds the root's tuple of each; called only if there are positions
    */
  private def descend(size: Int)(place: Located => Unit): Located = {
    val located = new Located(size, tree.nodes.length)
    if (size > 0) {
      prepare(tree.root, size)
      place(located)
      var n = 1
      while (n < parentsFirst.length) {
        visit(parentsFirst(n), located)
        n += 1
      }
    }
    located
  }

  /** Places positions under the tuples of the root that are in `list`. */
  private def placeInList(part: Int, located: Located, positions: PositionList): Unit = {
    var i = 0
    while (i < positions.size) {
      positions.read(i, position)
      bind(tree.root, list.seek(position), part, i, located)
      i += 1
    }
  }

  /** Places all positions that are pending at a node. */
  private def visit(node: ViewNode, located: Located): Unit = {
    prepare(node, located.size)
    val here = pending(node.id)
    pending(node.id) = null
    val order = here.byKey()
    var from = 0
    while (from < order.length) {
      var until = from + 1
      while (until < order.length && here.isSameKey(order(from), order(until))) until += 1
      val part = here.parts(order(from))
      val isSingle = space.isSingle(part, node)
      if (!isSingle) here.sort(order, from, until)
      list.load(node, orders(node.id), part, node.vs, here.keys(order(from)))
      var i = from
      while (i < until) {
        here.read(order(i), position)
        bind(node, if (isSingle) list.tuple(position.low.toInt) else list.seek(position), part, order(i), located)
        i += 1
      }
      from = until
    }
  }

  /** Makes room for the positions that will be pending at the children of a node. */
  private def prepare(node: ViewNode, size: Int): Unit = {
    var c = 0
    while (c < node.childCount) { pending(node.child(c).id) = new Descent.Pending(size); c += 1 }
  }

  /** Binds a tuple in result `i`, and splits the position under it, which is in `position`. */
  private def bind(node: ViewNode, tuple: Int, part: Int, i: Int, located: Located): Unit = {
    located.set(i, node.id, tuple)
    if (!space.isSingle(part, node)) {
      space.split(part, node, tuple, position, digits)
      node match {
        case _: RelationViews => located.setCopy(i, node.id, digits.copy)
        case _ =>
      }
      var c = 0
      while (c < node.childCount) {
        pending(node.child(c).id).set(i, node.keyTo(c, tuple), digits.parts(c), digits.positions(c))
        c += 1
      }
    }
  }
}

private object Descent {

  /** The positions under the keys of a node, by result. */
  final class Pending(size: Int) {
    val keys = new Array[Int](size)
    val parts = new Array[Int](size)
    private[this] val words = new Array[Long](2 * size)

    /** Sets, for result `i`, the key under which it is, and its part and position there. */
    def set(i: Int, key: Int, part: Int, position: Wide): Unit = {
      keys(i) = key
      parts(i) = part
      position.write(words, 2 * i)
    }

    /** Reads the position of result `i`. */
    def read(i: Int, into: Wide): Unit = into.read(words, 2 * i)

    def isSameKey(a: Int, b: Int): Boolean = keys(a) == keys(b) && parts(a) == parts(b)

    /** The results, those with the same key and part behind each other. */
    def byKey(): Array[Int] = {
      // part, key and result in one word; there are at most four parts
      val packed = new Array[Long](size)
      var i = 0
      while (i < size) { packed(i) = (parts(i).toLong << 31 | keys(i)) << 31 | i; i += 1 }
      java.util.Arrays.sort(packed)
      packed.map(p => (p & Int.MaxValue).toInt)
    }

    /** Sorts results with the same key by their positions. */
    def sort(order: Array[Int], from: Int, until: Int): Unit =
      IndexSort.sort(order, from, until, (a, b) => Wide.compare(words, 2 * a, 2 * b))
  }
}
