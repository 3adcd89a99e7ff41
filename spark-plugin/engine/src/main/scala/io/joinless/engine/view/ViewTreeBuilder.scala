package io.joinless.engine.view

import scala.collection.immutable.BitSet
import scala.collection.mutable.{ArrayBuffer, HashMap}

import io.joinless.engine.query
import io.joinless.engine.tuples.{
  InlinedWords,
  IntLists,
  KeyField,
  KeyIndex,
  NotedKeys,
  PagedWords,
  RecordLists,
  RowReader,
  TupleArena,
  TupleKeys
}

/** Builds the nodes, edges and key readers of trees over the relations of a block. The trees share
  * indexes of keys, and the keys that are memoized of rows.
  *
  * @param locations of projected fields, if results are enumerated; else null
  * @param whole the rows that are keys themselves; none if results are enumerated
  * @param identities of the rows of inputs
  * @param ofKeys what other trees have memoized for the keys of an index, which is forgotten with
  *     them
  */
final private[engine] class ViewTreeBuilder(
    block: BlockDef,
    arenas: Array[TupleArena],
    locations: FieldLocations,
    whole: Option[WholeRows],
    identities: Array[KeyIndex],
    ofKeys: KeyIndex => Array[TupleKeys]
) {
  private[this] val removable = block.removable
  val keys = new EdgeKeys(block, arenas)
  private[this] var nextGeneralized = block.relations.size // id of the next generalized node

  /** Memoized keys by row, for the columns of an input in an index. */
  private[this] val keysOfRows = new HashMap[(KeyIndex, Int, IndexedSeq[KeyField]), NotedKeys]

  /** Builds a tree; returns its nodes, children before their parents: the last is the root. */
  def build(definition: TreeDef): Array[ViewNode] = {
    val tree = new Tree(definition)
    val root = tree.build(definition.tree, isRoot = true, BitSet.empty, tree.projectedIdentity)
    tree.finish(root)
    tree.nodes.toArray
  }

  /** Builds the nodes of a bag's relations, each a root without children; in reverse, so that the
    * first relation's is the last, as a root is. The first relation of each component that
    * attributes link has a list of all its rows (V_s), from which a walk enters the component.
    */
  def build(bag: query.BagNode, indexes: BagIndexes): Array[ViewNode] = {
    val first = query.Hypergraph(bag.children.map(_.attributes)).components.map(_.head).toSet
    val nodes = block.relations.indices.map { r =>
      val input = block.relations(r).input
      val counted = block.inputs(input).counted
      val node = new RelationViews(r, r, input, arenas(input), counted, upKeys = null, isOwnKey = false, lift = null)
      node.bag = indexes
      if (first(r)) node.vs = new RecordLists(removable)
      node: ViewNode
    }
    nodes.reverse.toArray
  }

  /** The construction of one tree. */
  final private class Tree(definition: TreeDef) {
    import definition.{annotation, enumerated}

    val nodes = new ArrayBuffer[ViewNode]
    private[this] val projected: Option[ProjectedRows] = annotation.flatMap(_.projected)

    /** Projected row → its id; null if no rows are projected. */
    def projectedIdentity: KeyIndex = projected.map(_.identity).orNull

    /** Builds the node and all below it. A relation's lists refer to its children, and V_s to its
      * keys, so they are created in this order. `separator` and `up` are the attributes and the
      * index of the edge to its parent.
      */
    def build(
        tree: query.JoinTree,
        isRoot: Boolean,
        separator: BitSet,
        up: KeyIndex,
        isOwnKey: Boolean = false
    ): ViewNode = {
      val node = tree match {
        case query.RelationNode(r, _, _) =>
          relation(r, separator, up, isRoot, isOwnKey || isRoot && projected.exists(_.whole(r)))
        case query.GeneralizedNode(attributes, _) => generalized(tree, attributes, isRoot)
        case bag: query.BagNode => throw new IllegalArgumentException(s"the bag ${bag.attributes} has no views")
      }
      node.up = up
      if (enumerated && !isRoot) locations.visitKeyWords(separator, node.addKeyPointer(_, _))
      node.isDistinct = annotation.exists(_.distinct)
      node.isSplit = annotation.isDefined && node.isInstanceOf[RelationViews] && tree.children.size > 1
      node.countsSupport = enumerated || node.isSplit
      node.childNodes = tree.children.map(child => below(child, node, tree)).toArray
      for ((child, i) <- node.childNodes.zipWithIndex) {
        child.parentNode = node
        child.positionInParent = i
      }
      node match {
        case r: RelationViews => layOut(r, tree)
        case g: GeneralizedViews =>
          g.down = new Array(g.childCount)
          g.idx = new Array(g.childCount)
          g.live = new Array(g.childCount)
          if (!g.isOwnKey) addUpReaders(g, tree)
      }
      if (enumerated) node.vs = new RecordLists(removable, node.down.headOption.orNull, node.words)
      annotate(node)
      nodes += node
      node
    }

    /** Builds a child of `node`, whose tree is `tree`. */
    private def below(child: query.JoinTree, node: ViewNode, tree: query.JoinTree): ViewNode = {
      val separator = tree.separator(child)
      (node, child) match {
        case (g: GeneralizedViews, query.RelationNode(r, _, _)) =>
          build(child, isRoot = false, separator, g.domain, g.isOwnKey && projected.exists(_.whole(r)))
        case (_, query.RelationNode(r, _, _)) if whole.exists(_.isKey(r, separator)) =>
          build(child, isRoot = false, separator, identities(block.relations(r).input), isOwnKey = true)
        case _ => build(child, isRoot = false, separator, indexTo(child, node, tree))
      }
    }

    /** Builds the node of a relation, whose id is the relation's number; those of generalized nodes
      * follow.
      */
    private def relation(
        r: Int,
        separator: BitSet,
        up: KeyIndex,
        isRoot: Boolean,
        isOwnKey: Boolean
    ): RelationViews = {
      val input = block.relations(r).input
      val upKeys =
        if (up == null || isOwnKey) null else if (isRoot) new NotedKeys else memoized(r, separator, up)
      val lift = annotation.flatMap(_.lifts(r)).orNull
      val node = new RelationViews(r, r, input, arenas(input), block.inputs(input).counted, upKeys, isOwnKey, lift)
      node.ownWords = ownWords(r, separator)
      val inlined = if (enumerated) locations.inlined(r).toArray else Array.empty[Int]
      if (inlined.nonEmpty) node.inlinedWords = new InlinedWords(arenas(input), block.inputs(input).fields, inlined)
      node
    }

    /** The offsets in a row of relation `r` of the fields that are none of these attributes; null if
      * rows vary in length.
      */
    private def ownWords(r: Int, attributes: BitSet): Array[Int] = {
      val input = block.inputs(block.relations(r).input)
      val ofKey = block.relations(r).keys.collect { case (a, field) if attributes(a) => field.ordinal }.toSet
      val nullWords = (input.fields + 63) / 64
      if (input.fixedWords == 0) null else Array.range(0, input.fields).filterNot(ofKey).map(nullWords + _)
    }

    /** Builds a generalized node. Where its keys have a key above, it has an index of its own, since
      * there a new key is a new tuple of the other node. If the tuples are the projected rows, each
      * is its own key.
      */
    private def generalized(tree: query.JoinTree, attributes: BitSet, isRoot: Boolean): GeneralizedViews = {
      val isOwnKey = isRoot && whole.isDefined && projects(attributes)
      val isTop = isRoot && projected.isEmpty
      nextGeneralized += 1
      new GeneralizedViews(
        nextGeneralized - 1,
        if (isOwnKey) projectedIdentity
        else if (isTop) keys.shared(attributes, readers(tree))
        else keys.index(attributes),
        if (isOwnKey || isTop) null else new NotedKeys,
        isOwnKey
      )
    }

    /** Whether exactly these attributes are projected. All relations that meet the root have the
      * projected columns, so the first one decides.
      */
    private def projects(attributes: BitSet): Boolean = projected.exists { rows =>
      val r = ProjectedRows.atRoot(definition.tree).head
      val columns = rows.columns(r).map(_.ordinal)
      columns.size == attributes.size &&
      columns.toSet == block.relations(r).keys.collect { case (x, field) if attributes(x) => field.ordinal }.toSet
    }

    /** The index of the keys on which `child` joins `node`, whose tree is `tree`. A generalized
      * node's tuples are these keys.
      */
    private def indexTo(child: query.JoinTree, node: ViewNode, tree: query.JoinTree): KeyIndex = node match {
      case g: GeneralizedViews =>
        require(tree.separator(child) == tree.attributes, "the attributes of a generalized node are in each child")
        g.domain
      case _: RelationViews =>
        require(child.isInstanceOf[query.RelationNode], "a generalized node is the root or below a generalized node")
        keys.shared(tree.separator(child), readers(child) ++ readers(tree))
    }

    /** Creates a relation's keys and lists towards its children, which are built already. */
    private def layOut(r: RelationViews, tree: query.JoinTree): Unit = {
      r.down = r.childNodes.zip(tree.children).map { case (child, t) =>
        if (child.isOwnKey) new NotedKeys else memoized(r.relation, tree.separator(t), child.up)
      }
      r.idx = Array.fill(r.childCount)(new IntLists(removable || r.isSplit))
      r.live = Array.tabulate(r.childCount) { c =>
        if (enumerated) new RecordLists(removable, onwards(r, c, isRoot = tree eq definition.tree), r.words) else null
      }
      r.toChildren = r.childNodes.zip(tree.children).zip(r.down).map { case ((child, t), noted) =>
        new TupleKeys(child.up, readerOf(r, child, tree.separator(t)), noted, above = null, ofKeys(child.up))
      }
      // above a relation's child there is no generalized node: one reader, of its key to the relation
      for (c <- r.childNodes.collect { case c: RelationViews => c })
        c.upReaders = Array(keys.reader(c.relation, tree.separator(tree.children(c.positionInParent))))
    }

    /** A reader that finds the keys towards `child` by rows of `r`. */
    private def readerOf(r: RelationViews, child: ViewNode, separator: BitSet): RowReader = child match {
      case below: RelationViews if below.isOwnKey => whole.get.reader(keys, r.relation, below.relation, separator)
      case _ => keys.reader(r.relation, separator)
    }

    /** The keys by which enumeration continues from a tuple reached from child `c`: to the parent,
      * at the root to another child.
      */
    private def onwards(node: RelationViews, c: Int, isRoot: Boolean): NotedKeys =
      if (!isRoot) node.upKeys
      else node.down.indices.find(_ != c).map(node.down(_)).orNull

    /** Registers the key readers of `node`: relations with only generalized nodes between them and
      * `node` read its key from their rows.
      */
    private def addUpReaders(node: ViewNode, tree: query.JoinTree): Unit =
      for (c <- node.childNodes) c match {
        case r: RelationViews => r.upReaders :+= keys.reader(r.relation, tree.attributes)
        case g: GeneralizedViews => addUpReaders(g, tree)
      }

    /** Gives the children of `node` their annotations, and the root its own. Nodes with the same
      * keys share the records of their annotations.
      */
    private def annotate(node: ViewNode): Unit = if (annotation.isDefined) node match {
      case g: GeneralizedViews => annotate(if (g.isOwnKey) g.childNodes :+ g else g.childNodes)
      case r: RelationViews => r.childNodes.foreach(child => annotate(Array(child)))
    }

    /** Gives nodes with the same keys their annotations, next to each other in one record per key.
      */
    private def annotate(alike: Array[ViewNode]): Unit = {
      val ring = annotation.get.ring
      // a leaf whose rows are the keys: a batch changes each row once
      def isTouchedOnce(node: ViewNode) = node match {
        case r: RelationViews => r.isOwnKey && r.childCount == 0
        case _ => false
      }
      val words = alike.map(node => Annotation.words(ring, isTouchedOnce(node)))
      val records = new PagedWords(words.sum)
      for ((node, offset) <- alike.zip(words.scanLeft(0)(_ + _)))
        node.annotation = new Annotation(ring, records, offset, isTouchedOnce(node))
    }

    /** Completes the tree: what is the root's own, and the keys of rows up to the root. */
    def finish(root: ViewNode): Unit = {
      if (annotation.isDefined && root.annotation == null) annotate(Array(root))
      for (node <- nodes) node match {
        case r: RelationViews if r.upKeys != null => r.toParent = toParent(r, r, 0)
        case _ =>
      }
    }

    /** The keys to the parent of the tuples of `node`, which is `r` or a generalized node above it.
      * They are read from rows of `r`. Where such a key is a tuple of a generalized parent that has
      * keys itself, that tuple's key is the `above` of the result.
      *
      * @param level how many nodes `node` is above `r`: the position of its reader in `r.upReaders`
      */
    private def toParent(r: RelationViews, node: ViewNode, level: Int): TupleKeys = {
      val (reader, above) = node.parent match {
        case null => (projection(r), null)
        case g: GeneralizedViews if g.isOwnKey => (projection(r), null)
        case g: GeneralizedViews if g.upKeys != null => (r.upReaders(level), toParent(r, g, level + 1))
        case _ => (r.upReaders(level), null)
      }
      new TupleKeys(node.up, reader, node.upKeys, above, ofKeys(node.up))
    }

    /** A reader that finds a projected row by a row of the relation, which meets the root. */
    private def projection(r: RelationViews): RowReader = keys.projection(r.relation, projected.get.columns(r.relation))
  }

  /** The memoized keys of a relation's rows on some attributes; relations that read the same
    * columns share them.
    */
  private def memoized(relation: Int, attributes: BitSet, index: KeyIndex): NotedKeys =
    keysOfRows.getOrElseUpdate(
      (index, block.relations(relation).input, EdgeKeys.fields(block, relation, attributes)),
      new NotedKeys
    )

  /** Relations that read the keys on which a node joins its neighbours from their rows. */
  private def readers(tree: query.JoinTree): Seq[Int] = tree match {
    case query.RelationNode(r, _, _) => Seq(r)
    case query.GeneralizedNode(_, children) => children.flatMap(readers)
    case query.BagNode(_, children) => children.flatMap(readers)
  }
}
