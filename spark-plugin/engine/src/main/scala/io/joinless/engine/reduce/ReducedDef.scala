package io.joinless.engine.reduce

import scala.collection.immutable.BitSet

import io.joinless.engine.algebra.Ring
import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import io.joinless.engine.tuples.ProjectedField
import io.joinless.engine.view.BlockDef

/** What a [[ReducedJoin]] is built from, as data.
  *
  * @param block the base: inputs, all retractable, attributes and relations; its tree plays no part
  * @param components existential components, each a relation of `top`
  * @param top the join of what the components show: input i is relation i, and has the rows of component i
  * @param ring what is added up
  * @param lifts per relation of the base, what its rows count for; none where they count as one
  */
final case class ReducedDef(
    block: BlockDef,
    components: IndexedSeq[ComponentDef],
    top: BlockDef,
    ring: Ring,
    lifts: IndexedSeq[Option[Lift]]
) {
  require(block.inputs.forall(_.retractable), "rows of a reduced join are counted")
  require(top.inputs.size == components.size, "one input of the top per component")
}

/** @param tree over relations of the base
  * @param shown per relation that meets the root (itself, or one that has only generalized nodes above it), where the component's
  *   columns stand in its rows
  * @param distinct what the component shows counts once, whatever number of rows stand behind it
  */
final case class ComponentDef(
    tree: JoinTree,
    shown: Map[Int, IndexedSeq[ProjectedField]],
    distinct: Boolean = false
) {
  require(ComponentDef.atRoot(tree).forall(shown.contains), "the columns of each relation that meets the root")
}

object ComponentDef {

  /** The relations that meet the root of a tree. */
  def atRoot(tree: JoinTree): IndexedSeq[Int] = tree match {
    case RelationNode(r, _, _) => IndexedSeq(r)
    case GeneralizedNode(_, children) => children.flatMap(atRoot)
  }

  /** What a component shows, in the order in which a relation at its root stores it: rows that are shown as they are stored lie once
    * then ([[WholeRows]]).
    *
    * @param ordinal of a relation's vertex
    */
  def inOrder(tree: JoinTree, shown: BitSet)(ordinal: (Int, Int) => Int): IndexedSeq[Int] = {
    val root = atRoot(tree).head
    shown.toIndexedSeq.sortBy(ordinal(root, _))
  }
}
