package io.joinless.engine.reduce

import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena, TupleKeys}
import io.joinless.engine.update.{Restoration, Reversal, RowGroup}
import io.joinless.engine.view.{BlockDef, Counters, RowStore, ViewTree}

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

  private[this] val whole = new WholeRows(definition)
  private[reduce] val present = new PresentRows(this)
  private[this] val arenas: Array[TupleArena] = block.inputs.indices.map { i =>
    whole.projectedBy(i).fold(new TupleArena(block.inputs(i).fixedWords))(projectedRows)
  }.toArray
  private[this] val identities: Array[KeyIndex] = block.inputs.indices.map { i =>
    whole.projectedBy(i).fold(new KeyIndex(arenas(i), block.inputs(i).fixedWords, counted = true))(projectedIdentity)
  }.toArray

  private[this] val built = new SumTreeBuilder(definition, arenas, identities, whole, counters, projectedIdentity)

  /** The nodes of each component, children before parents: the last is the root. */
  private[reduce] val nodes: Array[Array[SumNode]] = built.nodes

  // projected rows of one component can be keys of nodes anywhere
  for (node <- nodes.iterator.flatten; c <- definition.components.indices if node.up eq projectedIdentity(c))
    node.keysOfKeys = keysOfProjected(c)

  private[this] val relations: Array[RelationNode] = built.relations

  private[this] val mixed: Array[Boolean] =
    block.inputs.indices.map(block.relationsOf(_).exists(r => relations(r).isKey && relations(r).parent != null)).toArray

  /** Whether the arena of an input also holds keys that are none of its rows: if a relation's rows
    * are keys, other relations may have added keys to it.
    */
  private[reduce] def hasOtherKeys(input: Int): Boolean = mixed(input)

  private[reduce] def root(component: Int): SumNode = nodes(component).last

  private[reduce] def relation(r: Int): RelationNode = relations(r)

  /** The projected rows of a component. */
  def projectedRows(component: Int): TupleArena = if (top == null) onlyRows else top.arena(component)

  private def projectedIdentity(component: Int): KeyIndex = if (top == null) onlyIdentity else top.identity(component)

  override def arena(input: Int): TupleArena = arenas(input)

  override private[engine] def keysOfRows(input: Int): Array[TupleKeys] =
    whole.projectedBy(input).fold(Array.empty[TupleKeys])(keysOfProjected)

  /** The keys that the top has memoized for the projected rows of a component. */
  private def keysOfProjected(component: Int): Array[TupleKeys] =
    if (top == null) Array.empty else top.keysOfRows(component)

  override def rowsOf(input: Int): Long = if (hasOtherKeys(input)) present.of(input) else super.rowsOf(input)

  override private[engine] def identity(input: Int): KeyIndex = identities(input)

  override private[engine] def multiplicities(relation: Int): PagedLongs = relations(relation).multiplicity

  override def keys: Long = built.keys.size + (if (top == null) 0L else top.keys)

  override def liveTuples: Long = if (top == null) 0L else top.liveTuples

  override def bytes: Long =
    block.inputs.indices.filter(whole.projectedBy(_).isEmpty).map(i => arenas(i).bytes + identities(i).bytes).sum +
      built.keys.bytes + nodes.iterator.flatten.map(_.bytes).sum +
      (if (top == null) onlyRows.bytes + onlyIdentity.bytes else top.bytes)

  /** Whether nothing is stored, and nothing remains of earlier rows. */
  def isEmpty: Boolean =
    (arenas ++ definition.components.indices.map(projectedRows)).forall(_.live == 0) && rows == 0 && keys == 0 &&
      (top == null || top.isEmpty)

  /** Fills the state, which must be empty, with rows and their counts. After its `finish`, either
    * call `restored` or read its results ([[RestoredResults]]) to the end.
    */
  def restoration(): Restoration = {
    present.forget()
    new Restoration(this, (relation, row, count) => relations(relation).change(row, 0L, count), RowGroup.unread(this))
  }

  def restored(): Unit = new RestoredResults(this, IndexedSeq.empty).drain()

  /** Records a batch so that it can be rolled back. */
  def reversal(): Reversal =
    new Reversal(
      this,
      (_, _) => throw new IllegalStateException("all rows of a reduced join are counted"),
      () => new ReducedBatch(this, IndexedSeq.empty, negatives = true)
    )
}

private object ReducedJoin {

  /** The definition of the top with rows that count once: their sums are kept outside of the top.
    */
  def once(top: BlockDef): BlockDef = top.copy(inputs = top.inputs.map(_.copy(once = true)))
}
