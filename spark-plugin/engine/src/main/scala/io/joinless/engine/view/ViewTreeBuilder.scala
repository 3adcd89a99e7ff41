package io.joinless.engine.view

import scala.collection.immutable.BitSet
import scala.collection.mutable.HashMap

import io.joinless.engine.query
import io.joinless.engine.tuples.{
  InlinedWords,
  IntLists,
  KeyField,
  KeyIndex,
  KeyReader,
  NotedKeys,
  RecordLists,
  TupleArena,
  TupleKeys
}

/** Builds nodes, edges and key readers of a [[ViewTree]]. */
final private class ViewTreeBuilder(block: BlockDef, locations: FieldLocations, arenas: Array[TupleArena]) {
  private[this] val removable = block.removable
  val keys = new EdgeKeys(block, arenas)
  private[this] val nodesById = new Array[ViewNode](block.tree.preorder.size)
  private[this] var nextGeneralized = block.relations.size // id of the next generalized node

  /** Memoized keys by row, for the columns of an input in an index. */
  private[this] val keysOfRows = new HashMap[(KeyIndex, Int, IndexedSeq[KeyField]), NotedKeys]

  val root: ViewNode = build(block.tree, BitSet.empty, null)

  def nodes: Array[ViewNode] = nodesById

  /** The node of each relation. */
  val relations: Array[RelationNode] = nodesById.collect { case r: RelationNode => r }.sortBy(_.relation)
  for (r <- relations if !r.isRoot) r.toParent = toParent(r, r.upReaders, 0)

  /** The keys of a node's tuples; with a key that is a tuple of the generalized node above, also
    * that tuple's key.
    */
  private def toParent(node: ViewNode, readers: Array[KeyReader], level: Int): TupleKeys =
    new TupleKeys(
      node.up,
      readers(level),
      node.upKeys,
      if (level + 1 < readers.length) toParent(node.parent, readers, level + 1) else null
    )

  /** Builds the node and all below it. A relation's lists refer to its children, and V_s to its
    * keys, so they are created in this order. `separator` and `up` are the attributes and the index
    * of the edge to its parent.
    */
  private def build(tree: query.JoinTree, separator: BitSet, up: KeyIndex): ViewNode = {
    val node = tree match {
      case query.RelationNode(r, _, _) => relation(r, separator, up)
      case query.GeneralizedNode(attributes, _) => generalized(tree, attributes)
    }
    node.up = up
    locations.inKeys(separator, node.addKeyPointer(_, _))
    nodesById(node.id) = node
    node.childNodes =
      tree.children.map(child => build(child, tree.separator(child), indexTo(child, node, tree))).toArray
    for ((child, i) <- node.childNodes.zipWithIndex) {
      child.parentNode = node
      child.positionInParent = i
    }
    node match {
      case r: RelationNode => layOut(r, tree)
      case g: GeneralizedNode =>
        g.down = new Array(g.childCount)
        g.idx = new Array(g.childCount)
        g.live = new Array(g.childCount)
        addUpReaders(g, tree)
    }
    node.vs = new RecordLists(removable, node.down.headOption.orNull, node.words)
    node
  }

  /** Builds the node of a relation, whose id is the relation's number; those of generalized nodes
    * follow.
    */
  private def relation(r: Int, separator: BitSet, up: KeyIndex): RelationNode = {
    val input = block.relations(r).input
    val upKeys = if (up == null) null else keysOf(r, separator, up)
    val node = new RelationNode(r, r, input, arenas(input), block.inputs(input).counted, upKeys)
    val inlined = locations.inlined(r).toArray
    if (inlined.nonEmpty) node.inlinedWords = new InlinedWords(arenas(input), block.inputs(input).fields, inlined)
    node
  }

  /** Builds a generalized node. Below another generalized node it has an index of its own, since
    * there a new key is a new tuple of the other node.
    */
  private def generalized(tree: query.JoinTree, attributes: BitSet): GeneralizedNode = {
    val isRoot = tree eq block.tree
    nextGeneralized += 1
    new GeneralizedNode(
      nextGeneralized - 1,
      if (isRoot) keys.shared(attributes, readers(tree)) else keys.index(attributes),
      isRoot
    )
  }

  /** The index of the keys on which `child` joins `node`, whose tree is `tree`. A generalized
    * node's tuples are these keys.
    */
  private def indexTo(child: query.JoinTree, node: ViewNode, tree: query.JoinTree): KeyIndex = node match {
    case g: GeneralizedNode =>
      require(tree.separator(child) == tree.attributes, "the attributes of a generalized node are in each child")
      g.domain
    case _: RelationNode =>
      require(child.isInstanceOf[query.RelationNode], "a generalized node is the root or below a generalized node")
      keys.shared(tree.separator(child), readers(child) ++ readers(tree))
  }

  /** Creates a relation's keys and lists towards its children, which are built already. */
  private def layOut(r: RelationNode, tree: query.JoinTree): Unit = {
    r.down = r.childNodes.zip(tree.children).map { case (child, t) => keysOf(r.relation, tree.separator(t), child.up) }
    r.idx = Array.fill(r.childCount)(new IntLists(removable))
    r.live =
      Array.tabulate(r.childCount)(c => new RecordLists(removable, onwards(r, c, isRoot = tree eq block.tree), r.words))
    r.toChildren = r.childNodes.zip(tree.children).zip(r.down).map { case ((child, t), noted) =>
      new TupleKeys(child.up, keys.reader(r.relation, tree.separator(t)), noted, above = null)
    }
    // above a relation's child there is no generalized node: one reader, of its key to the relation
    for (c <- r.childNodes.collect { case c: RelationNode => c })
      c.upReaders = Array(keys.reader(c.relation, tree.separator(tree.children(c.positionInParent))))
  }

  /** The memoized keys of a relation's rows on some attributes; relations that read the same
    * columns share them.
    */
  private def keysOf(relation: Int, attributes: BitSet, index: KeyIndex): NotedKeys =
    keysOfRows.getOrElseUpdate(
      (index, block.relations(relation).input, EdgeKeys.fields(block, relation, attributes)),
      new NotedKeys
    )

  /** The keys by which enumeration continues from a tuple reached from child `c`: to the parent, at
    * the root to another child.
    */
  private def onwards(node: RelationNode, c: Int, isRoot: Boolean): NotedKeys =
    if (!isRoot) node.upKeys
    else node.down.indices.find(_ != c).map(node.down(_)).orNull

  /** Relations that read the keys on which a node joins its neighbours from their rows. */
  private def readers(tree: query.JoinTree): Seq[Int] = tree match {
    case query.RelationNode(r, _, _) => Seq(r)
    case query.GeneralizedNode(_, children) => children.flatMap(readers)
  }

  /** Registers the key readers of `node`: relations with only generalized nodes between them and
    * `node` read its key from their rows.
    */
  private def addUpReaders(node: ViewNode, tree: query.JoinTree): Unit =
    for (c <- node.childNodes) c match {
      case r: RelationNode => r.upReaders :+= keys.reader(r.relation, tree.attributes)
      case g: GeneralizedNode => addUpReaders(g, tree)
    }
}
