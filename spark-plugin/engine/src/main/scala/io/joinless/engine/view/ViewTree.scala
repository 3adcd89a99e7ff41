package io.joinless.engine.view

import io.joinless.engine.orders.{OrderChoice, Orders}
import io.joinless.engine.query.BagNode
import io.joinless.engine.tuples.{InlinedWords, KeyIndex, NotedKeys, PagedLongs, TupleArena, TupleKeys}

/** The semi-join and projection views of a join block, linear in its rows; never a join result
  * (algorithms A11 to A15).
  *
  * Rows are stored once, in the arena of their input. Each relation (role) has a [[RelationViews]]
  * of lists over row ids, each generalized node of the join tree a [[GeneralizedViews]] over its
  * keys. The relations of a [[BagNode]] have [[BagIndexes]] instead. Only the package `update`
  * changes them; `enumerate` reads. Space: for each row and role, a constant number of ints per
  * incident edge of the tree (architecture D4).
  *
  * Not thread safe. Node `r < relations` belongs to relation `r`, since a cursor returns a node's
  * tuple as the row of that relation; generalized nodes follow.
  *
  * @param aggregates results are also counted and summed up, from the same state
  * @param orderChoice how walks choose the next relation of a bag; results do not depend on it
  */
final class ViewTree(
    val block: BlockDef,
    val aggregates: Option[AggregatesDef] = None,
    private[engine] val orderChoice: OrderChoice = OrderChoice.Fewest
) extends RowStore {
  val counters = new Counters
  private[this] val arenas: Array[TupleArena] = block.inputs.map(i => new TupleArena(i.fixedWords)).toArray
  private[this] val identities: Array[KeyIndex] = block.inputs.indices.map { i =>
    if (block.inputs(i).retractable) new KeyIndex(arenas(i), block.inputs(i).fixedWords, counted = true) else null
  }.toArray

  /** The locations of projected fields. */
  private[engine] val locations = new FieldLocations(block)
  private[this] val builder =
    new ViewTreeBuilder(block, arenas, locations, whole = None, identities, _ => TupleKeys.None)

  /** The rows projected for `aggregates`, and their identity; null if there are none. */
  private[this] val projected: TupleArena = aggregates.filter(_.isGrouped).map(t => new TupleArena(t.fixedWords)).orNull
  private[this] val projectedIdentity: KeyIndex =
    if (projected == null) null else new KeyIndex(projected, aggregates.get.fixedWords, counted = true)

  /** The indexes by which relations are intersected; null if they have views. */
  private[engine] val bag: BagIndexes = if (block.isBag) new BagIndexes(block, builder.keys) else null

  /** The orders that adapt to what walks through the bag have seen; null if there are none. */
  private[engine] val orders: Orders =
    if (bag == null) null else Orders.of(orderChoice, bag.members.map(_.attributeSet))
  require(bag == null || aggregates.isEmpty, "the results of a bag are not counted")

  /** All nodes, children before their parents. */
  private[engine] val childrenFirst: Array[ViewNode] = block.tree match {
    case node: BagNode => builder.build(node, bag)
    case tree => builder.build(TreeDef(tree, enumerated = true, aggregates.map(_.annotation(projectedIdentity))))
  }

  /** All nodes by their ids: the relations' in their order, then the generalized ones. */
  private[engine] val nodes: Array[ViewNode] = childrenFirst.sortBy(_.id)
  private[engine] val root: ViewNode = childrenFirst.last

  private[this] val relations: Array[RelationViews] = nodes.collect { case r: RelationViews => r }

  /** The projected rows for which results are counted. */
  def projectedRows: TupleArena = projected

  private[engine] def relation(r: Int): RelationViews = relations(r)

  /** The pointer to a projected field and its offset in words ([[FieldLocations]]); None if the row
    * must be read.
    */
  def location(relation: Int, field: Int): Option[(Int, Int)] = locations.find(relation, field)

  /** The words inlined with a relation's rows; null if there are none. */
  def words(relation: Int): InlinedWords = relations(relation).words

  /** The number of rows with a multiplicity > 1, over all relations. While it is 0, weights of
    * results need no products.
    */
  private[engine] var repeated: Long = 0L

  def arena(input: Int): TupleArena = arenas(input)

  private[engine] def multiplicities(relation: Int): PagedLongs = relations(relation).multiplicity

  private[engine] def identity(input: Int): KeyIndex = identities(input)

  def keys: Long = builder.keys.size + (if (projected == null) 0L else projected.live.toLong)

  def liveTuples: Long = counters.marked

  private[this] val noted: Array[NotedKeys] = ViewNode.notedKeys(nodes)

  private[this] val keysByInput: Array[Array[TupleKeys]] = block.inputs.indices.map { input =>
    RelationViews.keysOfRows(relations.filter(_.input == input))
  }.toArray

  private[engine] def keysOfRows(input: Int): Array[TupleKeys] = keysByInput(input)

  def bytes: Long =
    arenas.iterator.map(_.bytes).sum + identities.iterator.filter(_ != null).map(_.bytes).sum +
      (if (projected == null) 0L else projected.bytes + projectedIdentity.bytes) + builder.keys.bytes + noted.iterator
        .map(_.bytes).sum + (if (bag == null) 0L else bag.bytes) + (if (orders == null) 0L else orders.bytes) + nodes
        .iterator.map(_.bytes).sum

  /** Whether nothing is stored, and no view refers to anything. */
  def isEmpty: Boolean = rows == 0 && (!block.removable || keys == 0) && counters.alive == 0 && counters.marked == 0
}
