package io.joinless.engine.enumerate

import scala.collection.immutable.BitSet
import scala.util.control.NoStackTrace

import io.joinless.engine.tuples.{FieldValues, KeyField, KeyReader}
import io.joinless.engine.view.{ViewNode, ViewTree}

/** The values that a field of a relation must have in the results that are looked up: one of
  * `values`. NULL is found where the field is NULL.
  */
final case class BoundField(relation: Int, field: KeyField, values: Set[FieldValues.Value])

/** A look-up has tested as much as it may: the enumeration cannot go on. */
final class TooManyTests extends RuntimeException("a look-up tests too many combinations") with NoStackTrace

/** The results that have given values in some fields, at the cost of these results (algorithms
  * A70).
  *
  * A field that is a key of an attribute binds it in all relations. If the bound attributes have
  * all those of an edge of the tree, the results lie under the edge's keys with these values. One
  * such key is found by one probe, and the walk begins with the alive tuples that have it:
  * {{{
  * R(a,b) ⋈ S(b,c) ⋈ T(c,d) as S{R, T}, where b = 7
  *
  * level 0   R   V_s of R under the key 7
  * level 1   S   live tuples of S under the key 7
  * level 2   T   V_s of T under the key of S's tuple
  * }}}
  * Among several edges ([[Access]]), the one with the fewest keys is taken, then one whose key has
  * all bound fields, then the one with the fewest tuples.
  * If there is none, or if it would have more keys than its index, the smallest relation
  * that has a bound field is scanned, key by key, and its tuples are compared. A combination is
  * rejected at the first level that binds a field with another value.
  *
  * Cost: with all bound fields in the key, constant delay, and two probes per key that has no
  * result. Else also one move per tuple that is compared. The tree must not change during the
  * enumeration.
  *
  * @param mostTests how many tuples and combinations may be tested, since between two results there
  *     can be any number of them; then `next` throws [[TooManyTests]]
  */
final class Lookup(
    tree: ViewTree,
    residuals: IndexedSeq[Residual],
    bounds: IndexedSeq[BoundField],
    mostTests: Long = Long.MaxValue
) extends Results {
  private[this] val block = tree.block

  /** The values of each bound attribute. */
  private[this] val attributes: Map[Int, Set[FieldValues.Value]] =
    bounds.flatMap(b => attribute(b).map(_ -> b.values)).groupMapReduce(_._1)(_._2)(_ & _)

  private[this] val access = Access(block, bounds.map(b => b.relation -> b.field))
  private[this] val start: Start = choose()

  /** Whether results are found by keys; else a relation is scanned. */
  val isByKey: Boolean = start.attributes.nonEmpty

  private[this] val checks: IndexedSeq[Residual] =
    bounds.filterNot(attribute(_).exists(start.attributes)).map(atStart).distinct.map(check)

  /** Whether the cost is that of the results. */
  val costsResults: Boolean = isByKey && checks.isEmpty && residuals.isEmpty

  private[this] var tests = 0L
  private[this] val cursor = new Cursor(tree, (residuals ++ checks).map(counted))

  val rows: Array[Int] = cursor.tuples
  val pointers: WordPointers = cursor.pointers

  def next(): Boolean = {
    while (!cursor.next()) if (!startNext()) return false
    true
  }

  def next(run: Run): Boolean = next() && { cursor.take(run, whole = true); true }

  def changed: Long = cursor.changed

  def weight: Long = cursor.weight

  private def counted(condition: Residual): Residual = new Residual {
    val relations: IndexedSeq[Int] = condition.relations
    def accept(rows: Array[Int]): Boolean = {
      tests += 1
      if (tests > mostTests) throw new TooManyTests
      condition.accept(rows)
    }
  }

  /** Starts under the next key that has results; false if there is none. */
  private def startNext(): Boolean = {
    while (start.keys.hasNext) {
      val key = start.keys.next()
      tree.counters.moves += 1
      if (key >= 0 && !start.node.vs.isEmpty(key) && start.node.isLiveAbove(key)) {
        cursor.startUnder(start.node, key)
        return true
      }
    }
    false
  }

  /** Where the walk begins.
    *
    * @param keys of the node's edge to its parent; −1 for values that no key has
    * @param attributes those whose values the keys have; none if these are all keys
    */
  final private class Start(val node: ViewNode, val keys: Iterator[Int], val attributes: BitSet)

  /** The cheapest start. */
  private def choose(): Start = {
    val below = nodesBelowEdges // none in a bag
    val edges = access.edges.map { case (i, separator) => (i, below(i), separator) }.filter {
      case (_, node, separator) => number(separator) <= node.up.limit
    }
    val byKey = edges.minByOption { case (i, node, separator) =>
      val keys = number(separator)
      (keys, if (access.exact.contains(i)) 0 else 1, if (keys == 1) tuplesUnder(node, separator) else 0)
    }
    byKey.fold(scan) { case (_, node, separator) => new Start(node, keys(node, separator), separator) }
  }

  /** All tuples of the smallest relation that has a bound field. */
  private def scan: Start = {
    val having = if (block.isBag) IndexedSeq.empty else access.relations // a bag is walked from its root
    val node = tree.nodes(having.minByOption(r => tree.arena(block.relations(r).input).live).getOrElse(tree.root.id))
    new Start(node, Iterator.range(0, if (node.isRoot) 1 else node.up.limit), BitSet.empty)
  }

  /** Each node but the root, in the order of the edges to their parents. */
  private def nodesBelowEdges: IndexedSeq[ViewNode] = {
    def children(node: ViewNode): IndexedSeq[ViewNode] = (0 until node.childCount).map(node.child)
    def nodes(node: ViewNode): IndexedSeq[ViewNode] = node +: children(node).flatMap(nodes)
    nodes(tree.root).flatMap(children)
  }

  /** How many keys have such values; saturates. */
  private def number(separator: BitSet): Long =
    separator.foldLeft(1L)((n, x) => math.min(Int.MaxValue.toLong + 1, n * attributes(x).size))

  private def tuplesUnder(node: ViewNode, separator: BitSet): Int = {
    val key = keys(node, separator).next()
    if (key < 0) 0 else node.vs.count(key)
  }

  /** The keys with the values of the attributes, −1 where the index has none. */
  private def keys(node: ViewNode, separator: BitSet): Iterator[Int] = {
    val nullSafe = block.nullSafe(separator)
    val isWord = KeyReader.keyWords(separator.toArray.map(block.isVariable), nullSafe) == 1
    val combinations = separator.foldLeft(Iterator(Vector.empty[FieldValues.Value])) { (before, x) =>
      before.flatMap(values => attributes(x).iterator.map(values :+ _))
    }
    combinations.map { values =>
      FieldValues.key(values, nullSafe).fold(-1)(key =>
        if (isWord) node.up.find(key(0)) else node.up.find(key, key.length)
      )
    }
  }

  /** The attribute that a field is a key of. */
  private def attribute(bound: BoundField): Option[Int] = Access.attribute(block, bound.relation, bound.field)

  /** The same condition on a field of the node where the walk begins, if that has the attribute. */
  private def atStart(bound: BoundField): BoundField = {
    val there = for {
      x <- attribute(bound)
      relation <- block.relations.lift(start.node.id)
      (_, field) <- relation.keys.find(_._1 == x)
    } yield bound.copy(relation = start.node.id, field = field)
    there.getOrElse(bound)
  }

  private def check(bound: BoundField): Residual = {
    val input = block.relations(bound.relation).input
    val passes = new FieldValues(bound.field, bound.values).test(tree.arena(input), block.inputs(input).fields)
    new Residual {
      val relations: IndexedSeq[Int] = IndexedSeq(bound.relation)
      def accept(rows: Array[Int]): Boolean = passes(rows(bound.relation))
    }
  }
}
