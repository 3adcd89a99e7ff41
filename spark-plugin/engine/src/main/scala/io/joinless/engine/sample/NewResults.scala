package io.joinless.engine.sample

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.{Digits, Space}
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.update.CollectedChanges
import io.joinless.engine.view.ViewNode

/** The results that a batch of insertions adds, as positions of their own (algorithms A61).
  *
  * Under each key and tuple there are three parts: all results after the insertions, those before
  * them, and the new ones. A new result of a tuple is of exactly one of these kinds:
  *   - its copy of the tuple is new, and the rest is any of the results after;
  *   - its copy is old, child c is the first one where its part is new: children before c have a
  *     part from before, those behind it any part.
  *
  * So no position is counted twice, and none is a dummy. The numbers come from the annotations,
  * which hold those after the insertions and the change of each key ([[Annotation]]).
  *
  * @param changes of the batch; they say the multiplicities before
  */
final private[sample] class NewResults(changes: CollectedChanges) extends Space {
  import NewResults._

  // by relation, whose nodes have their numbers: rows with a greater multiplicity than before
  private[this] val increased = Array.fill(changes.relations)(new java.util.BitSet)
  private[this] val noted = Array.fill(changes.relations)(new IntStack)

  private[this] val factor = new Wide
  private[this] val term = new Wide
  private[this] val old = new Wide
  private[this] val increase = new Wide

  override def isSingle(part: Int, node: ViewNode): Boolean = node.childCount == 0 && node.repeated == 0L

  override def contains(part: Int, node: ViewNode, tuple: Int): Boolean =
    part == After || isIncreased(node, tuple) == (part == New)

  /** The number of results of a part under a tuple; new are those after that were not there before.
    */
  override def count(part: Int, node: ViewNode, tuple: Int, into: Wide): Unit = part match {
    case New =>
      if (!isTouched(node, tuple)) into.set(0L)
      else {
        product(After, node, tuple, into)
        product(Before, node, tuple, old)
        into.subtract(old)
      }
    case _ => product(part, node, tuple, into)
  }

  /** Whether the insertions change the number of results of a tuple. */
  private def isTouched(node: ViewNode, tuple: Int): Boolean = {
    var c = 0
    while (c < node.childCount && node.child(c).annotation.touchedIndex(node.keyTo(c, tuple)) < 0) c += 1
    c < node.childCount || isIncreased(node, tuple)
  }

  /** The number of results of a tuple, after or before. */
  private def product(part: Int, node: ViewNode, tuple: Int, into: Wide): Unit = {
    into.set(if (part == After) node.copies(tuple) else weightBefore(node, tuple))
    var c = 0
    while (c < node.childCount && !into.isZero) {
      below(part, node, tuple, c, factor)
      into.multiply(factor)
      c += 1
    }
  }

  /** The number of results of a part under a tuple's key towards child `c`. */
  private def below(part: Int, node: ViewNode, tuple: Int, c: Int, into: Wide): Unit = {
    val annotation = node.child(c).annotation
    val key = node.keyTo(c, tuple)
    val touched = annotation.touchedIndex(key)
    if (part == New) {
      if (touched < 0) into.set(0L) else annotation.readIncrease(touched, into)
    } else {
      annotation.readCount(key, into)
      if (part == Before && touched >= 0) {
        annotation.readIncrease(touched, increase)
        into.subtract(increase)
      }
    }
  }

  /** The multiplicity before the insertions; decreases were applied already. */
  private def weightBefore(node: ViewNode, tuple: Int): Long =
    if (isIncreased(node, tuple)) math.max(0L, changes.before(node.id, tuple)) else node.copies(tuple)

  private def isIncreased(node: ViewNode, tuple: Int): Boolean =
    node.id < increased.length && increased(node.id).get(tuple)

  /** Notes that the batch increases the multiplicity of a row in a relation. */
  def increase(relation: Int, row: Int): Unit = {
    increased(relation).set(row)
    noted(relation).push(row)
  }

  /** Forgets what was noted. */
  def clear(): Unit = increased.indices.foreach { relation =>
    while (!noted(relation).isEmpty) increased(relation).clear(noted(relation).pop())
  }

  /** The digits, from the lowest: the copy of the tuple, then a position under its key to each
    * child.
    */
  override def split(part: Int, node: ViewNode, tuple: Int, position: Wide, digits: Digits): Unit =
    if (part == New) splitNew(node, tuple, position, digits)
    else {
      digits.takeCopy(position, if (part == After) node.copies(tuple) else weightBefore(node, tuple))
      var c = 0
      while (c < node.childCount) {
        below(part, node, tuple, c, factor)
        digits.take(position, c, part, factor)
        c += 1
      }
    }

  /** Splits a position among the new results. They come in this order: those with a new copy of the
    * tuple, then those whose first child with a new part is child 0, 1, and so on.
    */
  private def splitNew(node: ViewNode, tuple: Int, position: Wide, digits: Digits): Unit = {
    val copiesBefore = weightBefore(node, tuple)
    val newCopies = node.copies(tuple) - copiesBefore
    term.set(newCopies)
    multiplyAll(node, tuple, 0, After)
    if (position.compare(term) < 0) {
      digits.takeCopy(position, newCopies)
      digits.copy += copiesBefore
      var c = 0
      while (c < node.childCount) { takeBelow(After, node, tuple, c, position, digits); c += 1 }
    } else {
      // the first child with a new part
      var first = -1
      do {
        position.subtract(term)
        first += 1
        term.set(copiesBefore)
        multiplyFirst(node, tuple, first)
        below(New, node, tuple, first, factor)
        term.multiply(factor)
        multiplyAll(node, tuple, first + 1, After)
      } while (position.compare(term) >= 0)
      digits.takeCopy(position, copiesBefore)
      var c = 0
      while (c < node.childCount) {
        takeBelow(if (c < first) Before else if (c == first) New else After, node, tuple, c, position, digits)
        c += 1
      }
    }
  }

  /** Takes off a position of a part under the tuple's key to child `c`. */
  private def takeBelow(part: Int, node: ViewNode, tuple: Int, c: Int, position: Wide, digits: Digits): Unit = {
    below(part, node, tuple, c, factor)
    digits.take(position, c, part, factor)
  }

  /** Multiplies `term` by the results before, of the children before `until`. */
  private def multiplyFirst(node: ViewNode, tuple: Int, until: Int): Unit = {
    var c = 0
    while (c < until) { below(Before, node, tuple, c, factor); term.multiply(factor); c += 1 }
  }

  /** Multiplies `term` by the results of a part, of the children from `from` on. */
  private def multiplyAll(node: ViewNode, tuple: Int, from: Int, part: Int): Unit = {
    var c = from
    while (c < node.childCount) { below(part, node, tuple, c, factor); term.multiply(factor); c += 1 }
  }
}

private[sample] object NewResults {

  /** All results after the insertions. */
  final val After = 0

  /** The results before them. */
  final val Before = 1

  /** The results that they add. */
  final val New = 2
}
