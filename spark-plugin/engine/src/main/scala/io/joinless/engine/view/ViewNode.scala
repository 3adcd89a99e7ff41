package io.joinless.engine.view

import io.joinless.engine.tuples.{
  InlinedWords,
  IntLists,
  KeyIndex,
  KeyReader,
  NotedKeys,
  Paged,
  PagedBytes,
  PagedInts,
  PagedLongs,
  RecordLists,
  TupleArena,
  TupleKeys
}

/** The views of one node of the join tree, over its tuples (dense int ids).
  *
  * `key(t)` = the tuple's key on the separator to the parent, an id of `up`; the root has the one
  * key 0. A tuple is ''alive'' if each child has an alive tuple for it: `count(t)` = number of such
  * children = all. It is ''live'' if it is part of some result: alive, and some live tuple of the
  * parent (any, at the root) joins it.
  *
  *   - `vs`: V_s, the alive tuples by key; the keys that have one are V_p;
  *   - `state`: count, and a mark on live tuples of nodes that have children (leaves need none);
  *   - per child c: `down(c)(t)` the tuple's key on the separator (relations that read one column
  *     share one array of these), `idx(c)` all tuples by that key, `live(c)` the live ones. All
  *     three are null if a tuple is itself the key: then it alone has that key, and is live if it
  *     is marked.
  *
  * Enumeration continues from a tuple by the key inlined with it: in V_s the key towards the first
  * child, in the live views the key to the parent (at the root to another child).
  *
  * Algorithms read a tuple's relation to its neighbours and to a result through these lists,
  * `keyTo`, `weight` and `relations`, independently of the kind of node.
  *
  * @param relations the relations (bit set) whose rows a tuple of this node binds
  * @param multiplicity of each tuple; null if each counts once
  * @param upKeys the key of each tuple on the edge to the parent; null at the root
  */
sealed abstract class ViewNode(
    val id: Int,
    val relations: Long,
    private[engine] val multiplicity: PagedLongs,
    private[engine] val upKeys: NotedKeys
) {
  private[view] var parentNode: ViewNode = null
  private[view] var childNodes: Array[ViewNode] = Array.empty

  /** The position among the parent's children. */
  private[view] var positionInParent: Int = -1

  def parent: ViewNode = parentNode
  def position: Int = positionInParent
  def childCount: Int = childNodes.length
  def child(i: Int): ViewNode = childNodes(i)
  def isRoot: Boolean = parentNode == null

  /** The keys of the edge to the parent; null at the root. */
  private[engine] var up: KeyIndex = null

  /** The pointers to the projected words of that edge's keys, and the offset of each in a key. */
  private[engine] var keyPointers: Array[Int] = Array.empty
  private[engine] var keyOffsets: Array[Int] = Array.empty

  private[view] def addKeyPointer(pointer: Int, offset: Int): Unit = {
    keyPointers :+= pointer
    keyOffsets :+= offset
  }

  /** The state of tuples of nodes that have children; stored tuples of leaves are always alive. */
  private[engine] val state = new PagedBytes

  /** For the pending deletion: the number of alive tuples of each key that die. All 0 while none is
    * pending. It is a field of the node because it is as long as the arrays over keys, and a
    * deletion must not allocate it anew.
    */
  private[engine] val dying = new PagedInts

  /** The words to inline with tuples in V_s and the live views; null if there are none. */
  private[engine] def words: InlinedWords = null

  private[engine] var vs: RecordLists = null
  private[engine] var down: Array[NotedKeys] = Array.empty
  private[engine] var idx: Array[IntLists] = Array.empty
  private[engine] var live: Array[RecordLists] = Array.empty

  final def key(tuple: Int): Int = if (upKeys == null) 0 else upKeys(tuple)
  final def support(tuple: Int): Int = state(tuple) & ViewNode.CountMask
  final def isAlive(tuple: Int): Boolean = childNodes.length == 0 || support(tuple) == childNodes.length
  final def isMarked(tuple: Int): Boolean = (state(tuple) & ViewNode.LiveMark) != 0

  /** The number of its tuples with a multiplicity > 1. */
  private[engine] var repeated: Long = 0L

  final def weight(tuple: Int): Long = if (multiplicity == null) 1L else multiplicity(tuple)

  /** The tuple's key towards child `c`. */
  final def keyTo(c: Int, tuple: Int): Int = if (down(c) == null) tuple else down(c)(tuple)

  /** Whether some live tuple of the parent has this key; always true at the root. */
  final def isLiveAbove(key: Int): Boolean = parentNode == null || parentNode.isLiveFor(positionInParent, key)

  private def isLiveFor(c: Int, key: Int): Boolean = if (live(c) == null) isMarked(key) else !live(c).isEmpty(key)

  /** Heap held, without the keys of tuples, which nodes share. */
  def bytes: Long = {
    val arrays = Iterator[Paged](state, dying, multiplicity)
    arrays.filter(_ != null).map(_.bytes).sum + idx.iterator.filter(_ != null).map(_.bytes).sum +
      (Iterator(vs) ++ live).filter(_ != null).map(_.bytes).sum
  }
}

private[engine] object ViewNode {
  final val LiveMark = 0x80
  final val CountMask = 0x7f
}

/** The views of a relation: tuples are row ids of its input.
  *
  * `multiplicity` exists only if rows of the input are counted; else each row counts once. Linked
  * rows have a positive one. Rows with multiplicity zero or a negative one (a delete before its
  * insert) are in no view.
  */
final class RelationNode(
    id: Int,
    val relation: Int,
    val input: Int,
    val arena: TupleArena,
    counted: Boolean,
    upKeys: NotedKeys
) extends ViewNode(id, 1L << relation, if (counted) new PagedLongs else null, upKeys) {

  /** The keys to the parent, null at the root, and to the children. */
  private[engine] var toParent: TupleKeys = null
  private[engine] var toChildren: Array[TupleKeys] = Array.empty

  /** Readers of the key to the parent and, above a generalized parent, of that parent's key to its
    * own parent, and so on.
    */
  private[engine] var upReaders: Array[KeyReader] = Array.empty

  private[view] var inlinedWords: InlinedWords = null
  override private[engine] def words: InlinedWords = inlinedWords

  /** While a batch is arranged: its effect on each key to the parent (`update.RefilledKeys`). All 0
    * otherwise, and at the root.
    */
  private[engine] val refills = new PagedInts

  override def bytes: Long = super.bytes + refills.bytes
}

/** The views of a generalized node: a tuple is a key of `domain`, on which all its children join.
  * It binds no row.
  */
final class GeneralizedNode(id: Int, private[engine] val domain: KeyIndex, isRoot: Boolean)
    extends ViewNode(id, 0L, null, if (isRoot) null else new NotedKeys)
