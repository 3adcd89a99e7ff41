package io.joinless.engine.reduce

import scala.collection.immutable.BitSet

import io.joinless.engine.algebra.Ring
import io.joinless.engine.query.{JoinTree, RelationNode}
import io.joinless.engine.tuples.ProjectedField
import io.joinless.engine.view.{BlockDef, Lift, ProjectedRows}

/** The definition of a [[ReducedJoin]], as data.
  *
  * @param block the base: inputs, all retractable, attributes and relations; its tree is not used
  * @param components existential components, each a relation of `top`
  * @param top the join of the components' projected rows: relation i has those of component i.
  *     Components that project the same columns of one input may share an input of the top. As a
  *     bag: of three components that form a cycle, of which only totals are requested
  * @param ring of the aggregated elements
  * @param lifts per relation of the base the contribution of its rows; none if they are counted
  *     only
  * @param keys where the top is a bag: at most two attributes by which totals are grouped. A result
  *     then is a row of the first component that has them all; the others' rows are of no meaning
  */
final case class ReducedDef(
    block: BlockDef,
    components: IndexedSeq[ComponentDef],
    top: BlockDef,
    ring: Ring,
    lifts: IndexedSeq[Option[Lift]],
    keys: BitSet = BitSet.empty
) {
  require(block.inputs.forall(_.retractable), "rows of a reduced join are counted")
  require(top.relations.size == components.size, "one relation of the top per component")
  require(!top.isBag || components.size == 3 && !components.exists(_.distinct), "a total is over a cycle of three")
}

/** An existential component and the rows that it projects.
  *
  * @param tree over relations of the base
  * @param projected for each relation that meets the root (the root itself, or a relation with only
  *     generalized nodes above it), the positions of the component's columns in its rows
  * @param distinct each projected row counts once, however many results project to it
  */
final case class ComponentDef(
    tree: JoinTree,
    projected: Map[Int, IndexedSeq[ProjectedField]],
    distinct: Boolean = false
) {
  require(ComponentDef.atRoot(tree).forall(projected.contains), "the columns of each relation that meets the root")
}

object ComponentDef {

  /** Per component the number of the top's input that has its projected rows, if components share
    * inputs: there is one for all that project the same columns of one input, such as three roles
    * of a stream of edges.
    */
  def sharedInputs(components: IndexedSeq[ComponentDef], block: BlockDef): IndexedSeq[Int] = {
    val sources = components.map { component =>
      component.tree match {
        case RelationNode(r, _, _) => Left((block.relations(r).input, component.projected(r)))
        case _ => Right(component)
      }
    }
    sources.map(sources.distinct.indexOf(_))
  }

  /** The relations that meet the root of a tree. */
  def atRoot(tree: JoinTree): IndexedSeq[Int] = ProjectedRows.atRoot(tree)

  /** The projected columns of a component, in the order in which a relation at its root stores
    * them. Rows that are projected whole are then stored once ([[WholeRows]]).
    *
    * @param ordinal of a relation's vertex
    */
  def inOrder(tree: JoinTree, projected: BitSet)(ordinal: (Int, Int) => Int): IndexedSeq[Int] = {
    val root = atRoot(tree).head
    projected.toIndexedSeq.sortBy(ordinal(root, _))
  }
}
