package io.joinless.engine.reduce

import io.joinless.engine.tuples.{KeyIndex, NotedKeys, PagedLongs, TupleArena, TupleKeys}
import io.joinless.engine.update.{PrefetchedRows, Restoration}
import io.joinless.engine.view.{
  AnnotationDef,
  BlockDef,
  Counters,
  ProjectedRows,
  RelationViews,
  RowStore,
  TreeDef,
  ViewNode,
  ViewTree,
  ViewTreeBuilder,
  WholeRows
}

/** The aggregates of a join without its results (algorithms A7): the state of a block below an
  * aggregate.
  *
  * {{{
  * rows of the base ─► components: sums per key, from the leaves to the root
  *                                                │
  *                     projected rows of components, with their sums
  *                                                │ view tree, if several components
  *                     results of the top, each with the product of its rows' sums
  * }}}
  * Only [[ReducedBatch]] changes it. Invariant: a key's element is the sum, over the results of the
  * join of its subtree, of the products of their rows' contributions. The same holds for the
  * projected rows of a component.
  *
  * Space: a constant number of ints and elements per row and role; never a result. Not thread safe.
  */
final class ReducedJoin(val definition: ReducedDef) extends RowStore {
  override val block = definition.block
  override val counters = new Counters

  /** The join of the components' projected rows; null for a single component, whose rows are the
    * results.
    */
  private[reduce] val top: ViewTree =
    if (definition.components.size > 1) new ViewTree(ReducedJoin.once(definition.top)) else null

  private[this] val onlyRows: TupleArena =
    if (top == null) new TupleArena(definition.top.inputs(0).fixedWords) else null
  private[this] val onlyIdentity: KeyIndex =
    if (top == null) new KeyIndex(onlyRows, definition.top.inputs(0).fixedWords, counted = true) else null

  private[this] val whole =
    new WholeRows(block, definition.components.map(_.projected), definition.top.relations.map(_.input))
  private[reduce] val present = new PresentRows(this)
  private[this] val arenas: Array[TupleArena] = block.inputs.indices.map { i =>
    whole.projectedBy(i).fold(new TupleArena(block.inputs(i).fixedWords))(projectedRows)
  }.toArray
  private[this] val identities: Array[KeyIndex] = block.inputs.indices.map { i =>
    whole.projectedBy(i).fold(new KeyIndex(arenas(i), block.inputs(i).fixedWords, counted = true))(projectedIdentity)
  }.toArray

  private[this] val builder = new ViewTreeBuilder(block, arenas, null, Some(whole), identities, keysOfProjected(_))

  /** The nodes of each component, children before parents: the last is the root. */
  private[this] val nodes: Array[Array[ViewNode]] = definition.components.zipWithIndex.map { case (component, c) =>
    val rows = new ProjectedRows(component.projected, projectedIdentity(c), whole.projected(c))
    val annotation = AnnotationDef(definition.ring, definition.lifts, component.distinct, Some(rows))
    builder.build(TreeDef(component.tree, enumerated = false, Some(annotation)))
  }.toArray

  private[reduce] val sums: Array[ComponentSums] = nodes.map(new ComponentSums(_, definition.ring, counters))

  /** The totals over a cycle; null if the top is a tree, or there is none. */
  private[reduce] val cycle: CycleSums =
    if (top == null || top.bag == null) null
    else {
      val keys = CycleKeys.of(definition.top, definition.keys)
      new CycleSums(top, sums.toIndexedSeq.map(_.root), keys, definition.ring, counters)
    }

  /** The sums of each relation. */
  private[reduce] val relationSums: Array[RelationSums] = {
    val all = sums.iterator.flatMap(_.ofRelations).toMap
    block.relations.indices.map(all).toArray
  }

  private[this] val relations: Array[RelationViews] = relationSums.map(_.node)

  /** The root of a component, whose keys are the component's projected rows. */
  private[reduce] def root(component: Int): ViewNode = nodes(component).last

  /** An arena also holds keys that are none of its rows if a relation's rows are keys, or projected
    * rows of a component with several relations at its root: other relations may have added them.
    */
  private[this] val mixed: Array[Boolean] = block.inputs.indices.map { input =>
    block.relationsOf(input).exists(r => relations(r).isOwnKey && !relations(r).isRoot) ||
    whole.projectedBy(input).exists(!root(_).isInstanceOf[RelationViews])
  }.toArray

  override private[engine] def hasOtherKeys(input: Int): Boolean = mixed(input)

  private[this] val keysByInput: Array[Array[TupleKeys]] = block.inputs.indices.map { input =>
    RelationViews.keysOfRows(block.relationsOf(input).map(relations)) ++ keysOfProjected(identities(input))
  }.toArray

  /** The projected rows of a component. */
  def projectedRows(component: Int): TupleArena = if (top == null) onlyRows else top.arena(inputOf(component))

  /** The index of a component's projected rows: row → its id in `projectedRows`. */
  private def projectedIdentity(component: Int): KeyIndex =
    if (top == null) onlyIdentity else top.identity(inputOf(component))

  /** The input of the top that has the projected rows of a component. */
  private def inputOf(component: Int): Int = definition.top.relations(component).input

  override def arena(input: Int): TupleArena = arenas(input)

  override private[engine] def keysOfRows(input: Int): Array[TupleKeys] = keysByInput(input)

  /** If the keys of an index are the projected rows of a component: the keys that the top has
    * memoized for them.
    */
  private def keysOfProjected(index: KeyIndex): Array[TupleKeys] =
    if (top == null) TupleKeys.None
    else
      definition.top.inputs.indices.find(i => top.identity(i) eq index).fold(TupleKeys.None)(top.keysOfRows)

  override def rowsOf(input: Int): Long = if (hasOtherKeys(input)) present.of(input) else super.rowsOf(input)

  override private[engine] def identity(input: Int): KeyIndex = identities(input)

  override private[engine] def multiplicities(relation: Int): PagedLongs = relations(relation).multiplicity

  override def keys: Long = builder.keys.size + (if (top == null) 0L else top.keys)

  override def liveTuples: Long = if (top == null) 0L else top.liveTuples

  private[this] val noted: Array[NotedKeys] = ViewNode.notedKeys(nodes.flatten)

  override def bytes: Long =
    block.inputs.indices.filter(whole.projectedBy(_).isEmpty).map(i => arenas(i).bytes + identities(i).bytes).sum +
      builder.keys.bytes + noted.iterator.map(_.bytes).sum + nodes.iterator.flatten.map(_.bytes).sum +
      sums.iterator.map(_.bytes).sum + (if (cycle == null) 0L else cycle.bytes) +
      (if (top == null) onlyRows.bytes + onlyIdentity.bytes else top.bytes)

  /** Whether nothing is stored, and nothing remains of earlier rows. */
  def isEmpty: Boolean =
    (arenas ++ definition.components.indices.map(projectedRows)).forall(_.live == 0) && rows == 0 && keys == 0 &&
      (top == null || top.isEmpty) && (cycle == null || cycle.isEmpty)

  /** Fills the state, which must be empty, with rows and their counts. After its `finish`, its
    * results ([[RestoredResults]]) must be read to the end, or skipped.
    */
  def restoration(): Restoration = {
    present.forget()
    new Restoration(this, new ReducedJoin.Loading(this), PrefetchedRows.unread(this))
  }
}

private object ReducedJoin {

  /** Notes the rows at their relations; their results are those of a first batch. */
  final private class Loading(join: ReducedJoin) extends Restoration.Loading {
    override def insert(relation: Int, row: Int, count: Long): Unit =
      join.relationSums(relation).change(row, 0L, count)

    override def end(): Unit = ()
  }

  /** The definition of the top with rows that count once: their sums are kept outside of the top.
    */
  def once(top: BlockDef): BlockDef = top.copy(inputs = top.inputs.map(_.copy(once = true)))
}
