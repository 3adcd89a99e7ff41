package io.joinless.engine.view

import io.joinless.engine.tuples.{
  IntLists,
  KeyIndex,
  KeyReader,
  NotedKeys,
  Paged,
  PagedBytes,
  PagedInts,
  PagedLongs,
  RecordLists,
  ShownWords,
  TupleArena,
  TupleKeys
}

/** The views of one node of the join tree, over its tuples (dense int ids).
  *
  * `key(t)` = the tuple's key on the separator to the parent, an id of `up`; the root has the one key 0. A tuple is
  * ''alive'' when each child has an alive tuple for it: `count(t)` = number of such children = all. It is ''live'' when it is
  * part of some result: alive, and some live tuple of the parent (any, at the root) joins it.
  *
  *   - `vs`: V_s, the alive tuples by key; the keys that have one are V_p;
  *   - `state`: count, and a mark on live tuples of nodes that have children (leaves need none);
  *   - per child c: `down(c)(t)` the tuple's key on the separator (relations that read one column have one array of these), `idx(c)` all tuples by that key, `live(c)` the live ones. All
  *     three are null where a tuple is itself the key: then it alone has that key, and is live where it is marked.
  *
  * Beside each tuple of V_s lies its key towards the first child, beside each live one its key to the parent (at the root to another
  * child): where enumeration goes on from it.
  *
  * Algorithms ask a node what its tuples are to its neighbours and to a result, not of which kind it is: these lists, `keyTo`,
  * `weight` and `relations`.
  *
  * @param relations the relations (bit set) whose rows a tuple of this node binds
  * @param multiplicity how often a tuple is there; null where each counts once
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

  /** Position among the parent's children. */
  private[view] var place: Int = -1

  def parent: ViewNode = parentNode
  def position: Int = place
  def childCount: Int = childNodes.length
  def child(i: Int): ViewNode = childNodes(i)
  def isRoot: Boolean = parentNode == null

  /** Keys of the edge to the parent; null at the root. */
  private[engine] var up: KeyIndex = null

  /** Of the keys of that edge: the places of what results show of them, and at which of their words it is. */
  private[engine] var keyPlaces: Array[Int] = Array.empty
  private[engine] var keyOffsets: Array[Int] = Array.empty

  private[view] def shows(place: Int, offset: Int): Unit = {
    keyPlaces :+= place
    keyOffsets :+= offset
  }

  /** Of tuples of nodes that have children; those of leaves are alive whenever they are there. */
  private[engine] val state = new PagedBytes

  /** Of the deletion that is pending: how many alive tuples of a key die. 0 everywhere while none is. It lies here, with the
    * other arrays over keys, because it is as long as they are: whoever deletes must not have to lay it out anew.
    */
  private[engine] val dying = new PagedInts

  /** What lies beside tuples where results are walked: in V_s and the live views. Null where nothing does. */
  private[engine] def words: ShownWords = null

  private[engine] var vs: RecordLists = null
  private[engine] var down: Array[NotedKeys] = Array.empty
  private[engine] var idx: Array[IntLists] = Array.empty
  private[engine] var live: Array[RecordLists] = Array.empty

  final def key(tuple: Int): Int = if (upKeys == null) 0 else upKeys(tuple)
  final def support(tuple: Int): Int = state(tuple) & ViewNode.CountMask
  final def isAlive(tuple: Int): Boolean = childNodes.length == 0 || support(tuple) == childNodes.length
  final def isMarked(tuple: Int): Boolean = (state(tuple) & ViewNode.LiveMark) != 0

  /** How many of its tuples are there more than once. */
  private[engine] var plural: Long = 0L

  final def weight(tuple: Int): Long = if (multiplicity == null) 1L else multiplicity(tuple)

  /** The tuple's key towards child `c`. */
  final def keyTo(c: Int, tuple: Int): Int = if (down(c) == null) tuple else down(c)(tuple)

  /** Some live tuple of the parent has this key. At the root always. */
  final def isLiveAbove(key: Int): Boolean = parentNode == null || parentNode.isLiveFor(place, key)

  private def isLiveFor(c: Int, key: Int): Boolean = if (live(c) == null) isMarked(key) else !live(c).isEmpty(key)

  /** Without the keys of tuples, which nodes share. */
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

/** Views of a relation: tuples are row ids of its input.
  *
  * `multiplicity` only where rows of the input are counted; elsewhere each row counts once. Linked rows have a positive one;
  * zero and negative ones (owed rows) are in no view.
  */
final class RelationNode(
    id: Int,
    val relation: Int,
    val input: Int,
    val arena: TupleArena,
    counted: Boolean,
    upKeys: NotedKeys
) extends ViewNode(id, 1L << relation, if (counted) new PagedLongs else null, upKeys) {

  /** Keys to the parent, null at the root, and to the children. */
  private[engine] var toParent: TupleKeys = null
  private[engine] var toChildren: Array[TupleKeys] = Array.empty

  /** Readers of the key to the parent and, above a generalized parent, of that one's key to its own parent, and so on. */
  private[engine] var upReaders: Array[KeyReader] = Array.empty

  private[view] var besideRows: ShownWords = null
  override private[engine] def words: ShownWords = besideRows

  /** While a batch is put in order: what it does to each key above (`update.RefilledKeys`). 0 everywhere else, and at the root. */
  private[engine] val refills = new PagedInts

  override def bytes: Long = super.bytes + refills.bytes
}

/** Views of a generalized node: a tuple is a key of `domain`, on which all its children meet. It binds no row. */
final class GeneralizedNode(id: Int, private[engine] val domain: KeyIndex, isRoot: Boolean)
    extends ViewNode(id, 0L, null, if (isRoot) null else new NotedKeys)
