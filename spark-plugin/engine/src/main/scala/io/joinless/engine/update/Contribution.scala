package io.joinless.engine.update

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{NotedKeys, TupleArena}
import io.joinless.engine.view.{Annotation, Counters, Lift, RelationViews, ViewNode}

/** The contribution of a node's tuples to the annotation of the node's keys: the tuple's own
  * factors times the elements of its keys towards the children.
  *
  * {{{
  * Words.copy(delta, 0, contribution.product, 0, delta.length) // a change below, or of the row
  * contribution.add(tuple, except = c)                         // the child in which it is
  * }}}
  * Cost: one step (`counters.steps`).
  */
final private[engine] class Contribution(node: ViewNode, ring: Ring, counters: Counters) {
  private[this] val annotation = node.annotation
  private[this] val children = node.childCount

  // by child; annotations are null where keys count once, since they change nothing then
  private[this] val below: Array[Annotation] =
    Array.tabulate(children)(c => if (node.child(c).isDistinct) null else node.child(c).annotation)
  private[this] val down: Array[NotedKeys] = node.down
  private[this] val upKeys: NotedKeys = node.upKeys
  private[this] val isOwnKey: Boolean = node.isOwnKey

  private[this] val relation: RelationViews = node match {
    case r: RelationViews => r
    case _ => null
  }
  private[this] val lift: Lift = if (relation == null) null else relation.lift
  private[this] val arena: TupleArena = if (relation == null) null else relation.arena

  /** The product so far; overwritten by `add`. */
  val product = new Array[Long](ring.width)

  /** Adds `product`, times the tuple's factors of all children but one, to the change of the tuple's
    * key. The keys towards these children must have results, or have had some.
    *
    * @param except that child; −1: none
    */
  def add(tuple: Int, except: Int): Unit = {
    if (lift != null) lift.multiply(product, arena, tuple)
    var c = 0
    while (c < children) {
      if (c != except && below(c) != null) {
        val key = if (down(c) == null) tuple else down(c)(tuple)
        ring.multiply(product, below(c).page(key), below(c).at(key))
      }
      c += 1
    }
    counters.steps += 1
    if (!Annotation.isZero(product))
      annotation.add(if (upKeys != null) upKeys(tuple) else if (isOwnKey) tuple else 0, product)
  }

  /** Whether the keys of a tuple towards all children but one have results. */
  def isSupported(tuple: Int, except: Int): Boolean = {
    var c = 0
    while (c < children) {
      if (c != except && node.child(c).annotation.isEmpty(node.keyTo(c, tuple))) return false
      c += 1
    }
    true
  }
}
