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
  * `key(t)` = the tuple's key on the separator to the parent, an id of `up`. A tuple is ''alive''
  * if each child has an alive tuple for it. It is ''live'' if it is part of some result: alive, and
  * some live tuple of the parent (any, at the root) joins it.
  *
  *   - per child c: `down(c)(t)` the tuple's key on the separator (relations that read one column
  *     share one array of these), `idx(c)` all tuples by that key; null if a tuple is itself the
  *     key: then it alone has that key;
  *   - `state`: the support count, that is, the number of children that have an alive tuple for it
  *     (`countsSupport`); and a mark on live tuples of nodes that have children (leaves need none).
  *
  * If results are enumerated:
  *   - `vs`: V_s, the alive tuples by key; the keys that have one are V_p. Null for relations of a
  *     bag that are reached by its indexes;
  *   - `live(c)`: the live tuples by their key to child c; null where `idx(c)` is: such a tuple is
  *     live if it is marked.
  *
  * If they are counted or summed up: `annotation`, an element of a ring per key ([[Annotation]]); a
  * key with a result is in V_p. A node of an annotated tree with several children is `split`:
  * `idx(c)` has two lists per key, 2 · key of the tuples that are not alive, and 2 · key + 1 of
  * those that are.
  *
  * Enumeration continues from a tuple by the key inlined with it: in V_s the key towards the first
  * child, in the live views the key to the parent (at the root to another child).
  *
  * Algorithms read a tuple's relation to its neighbours and to a result through these lists,
  * `keyTo`, `weight` and `relations`, independently of the kind of node.
  *
  * @param relations the relations (bit set) whose rows a tuple of this node binds
  * @param multiplicity of each tuple; null if each counts once
  * @param upKeys the key of each tuple on the edge to the parent. Null if all have the key 0: at
  *     the root, unless its results are projected. Also null if `isOwnKey`.
  * @param isOwnKey a tuple is its own key ([[WholeRows]])
  */
sealed abstract class ViewNode(
    val id: Int,
    val relations: Long,
    private[engine] val multiplicity: PagedLongs,
    private[engine] val upKeys: NotedKeys,
    private[engine] val isOwnKey: Boolean
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

  /** The keys of the edge to the parent; at the root, the projected rows, or null. */
  private[engine] var up: KeyIndex = null

  /** The pointers to the projected words of that edge's keys, and the offset of each in a key. */
  private[engine] var keyPointers: Array[Int] = Array.empty
  private[engine] var keyOffsets: Array[Int] = Array.empty

  /** Adds a pointer, by its number, to a projected word of the keys to the parent, which lies
    * `offset` words behind a key's start.
    */
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

  /** The annotation of the node's keys; null if there is none. */
  private[engine] var annotation: Annotation = null

  /** The parent counts a key once, however many results are under it. */
  private[engine] var isDistinct: Boolean = false

  /** Whether the lists by keys towards children separate alive tuples from others. */
  private[engine] var isSplit: Boolean = false

  /** Whether `state` has the support count. If results are only counted, a tuple with one child is
    * alive exactly if the key to that child has results, so no count is stored.
    */
  private[engine] var countsSupport: Boolean = true

  /** The tuple's key on the edge to the parent, at the root the id of its projected row; 0 if there
    * is one key only.
    */
  final def key(tuple: Int): Int = if (upKeys != null) upKeys(tuple) else if (isOwnKey) tuple else 0

  /** The number of children that have an alive tuple for this one. */
  final def support(tuple: Int): Int = state(tuple) & ViewNode.CountMask

  /** Whether each child has an alive tuple for it; tuples of leaves always are. */
  final def isAlive(tuple: Int): Boolean = childNodes.length == 0 || support(tuple) == childNodes.length

  /** Whether the tuple has the mark of live tuples. Tuples of leaves never have it. */
  final def isMarked(tuple: Int): Boolean = (state(tuple) & ViewNode.LiveMark) != 0

  /** The number of its tuples with a multiplicity > 1. */
  private[engine] var repeated: Long = 0L

  /** The multiplicity of a tuple. */
  final def weight(tuple: Int): Long = if (multiplicity == null) 1L else multiplicity(tuple)

  /** The multiplicity of an alive tuple, which is not read if no tuple has one > 1. */
  final def copies(tuple: Int): Long = if (repeated == 0L) 1L else weight(tuple)

  /** The tuple's key towards child `c`. */
  final def keyTo(c: Int, tuple: Int): Int = if (down(c) == null) tuple else down(c)(tuple)

  /** The list of `idx(c)` in which the tuple is. */
  final def listTo(c: Int, tuple: Int): Int = {
    val key = keyTo(c, tuple)
    if (!isSplit) key else if (isAlive(tuple)) ViewNode.aliveList(key) else ViewNode.otherList(key)
  }

  /** Whether some tuple under this key is alive: whether the key is in V_p. */
  final def hasAlive(key: Int): Boolean = if (vs != null) !vs.isEmpty(key) else annotation.count(key) > 0L

  /** Whether some live tuple of the parent has this key; always true at the root. */
  final def isLiveAbove(key: Int): Boolean = parentNode == null || parentNode.isLiveFor(positionInParent, key)

  /** Whether some live tuple of this node has the key towards child `c`. */
  private def isLiveFor(c: Int, key: Int): Boolean = if (live(c) == null) isMarked(key) else !live(c).isEmpty(key)

  /** Heap held, without the keys of tuples, which nodes share. */
  def bytes: Long = {
    val arrays = Iterator[Paged](state, dying, multiplicity)
    arrays.filter(_ != null).map(_.bytes).sum + idx.iterator.filter(_ != null).map(_.bytes).sum +
      (Iterator(vs) ++ live).filter(_ != null).map(_.bytes).sum + (if (annotation == null) 0L else annotation.bytes)
  }
}

private[engine] object ViewNode {
  final val LiveMark = 0x80
  final val CountMask = 0x7f

  /** The lists of a key in a node that is split: of its alive tuples, and of the others. */
  def aliveList(key: Int): Int = 2 * key + 1
  def otherList(key: Int): Int = 2 * key

  /** The memoized keys of the nodes' tuples, which nodes share. */
  def notedKeys(nodes: Array[ViewNode]): Array[NotedKeys] =
    nodes.flatMap(n => n.upKeys +: n.down).filter(_ != null).distinct
}

/** The views of a relation: tuples are row ids of its input.
  *
  * `multiplicity` exists only if rows of the input are counted; else each row counts once. Linked
  * rows have a positive one. Rows with multiplicity zero or a negative one (a delete before its
  * insert) are in no view.
  *
  * @param lift the contribution of a row to the annotation; null if rows are counted only
  */
final class RelationViews(
    id: Int,
    val relation: Int,
    val input: Int,
    val arena: TupleArena,
    counted: Boolean,
    upKeys: NotedKeys,
    isOwnKey: Boolean,
    private[engine] val lift: Lift
) extends ViewNode(id, 1L << relation, if (counted) new PagedLongs else null, upKeys, isOwnKey) {

  /** The offsets in a row of the fields that its key to the parent does not have, in ascending order;
    * null if rows vary in length.
    */
  private[engine] var ownWords: Array[Int] = null

  /** The keys to the parent, null if there are none, and to the children. */
  private[engine] var toParent: TupleKeys = null
  private[engine] var toChildren: Array[TupleKeys] = Array.empty

  /** Readers of the key to the parent and, above a generalized parent, of that parent's key to its
    * own parent, and so on.
    */
  private[engine] var upReaders: Array[KeyReader] = Array.empty

  /** The indexes of the bag that the relation is in; null if it has views. */
  private[engine] var bag: BagIndexes = null

  private[view] var inlinedWords: InlinedWords = null
  override private[engine] def words: InlinedWords = inlinedWords

  /** While a batch is arranged: its effect on each key to the parent (`update.RefilledKeys`). All 0
    * otherwise, and at the root.
    */
  private[engine] val refills = new PagedInts

  override def bytes: Long = super.bytes + refills.bytes
}

private[engine] object RelationViews {

  /** The memoized keys of the rows of relations. */
  def keysOfRows(relations: Array[RelationViews]): Array[TupleKeys] = {
    def keysOf(r: RelationViews) =
      if (r.bag == null) r.toParent +: r.toChildren else r.bag.members(r.relation).lists.map(_.keys)
    relations.flatMap(keysOf).filter(_ != null).distinctBy(_.noted)
  }
}

/** The views of a generalized node: a tuple is a key of `domain`, on which all its children join.
  * It binds no row.
  */
final class GeneralizedViews(
    id: Int,
    private[engine] val domain: KeyIndex,
    upKeys: NotedKeys,
    isOwnKey: Boolean
) extends ViewNode(id, 0L, null, upKeys, isOwnKey)
