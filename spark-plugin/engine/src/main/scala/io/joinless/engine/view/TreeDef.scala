package io.joinless.engine.view

import io.joinless.engine.algebra.Ring
import io.joinless.engine.query.{BagNode, GeneralizedNode, JoinTree, RelationNode}
import io.joinless.engine.tuples.{KeyIndex, ProjectedField}

/** A join tree, and the views that its nodes have besides the lists by which changes propagate.
  *
  * @param enumerated results are walked: nodes have V_s and live views
  * @param annotation results are counted, or summed up; none: nodes have no annotation
  */
final private[engine] case class TreeDef(tree: JoinTree, enumerated: Boolean, annotation: Option[AnnotationDef])

/** The annotation of a tree's nodes.
  *
  * @param lifts by relation the contribution of its rows; none if they are counted only
  * @param distinct the parent counts each key once, however many results are under it
  * @param projected the keys of the root; none: the root has one key, which all results are under
  */
final private[engine] case class AnnotationDef(
    ring: Ring,
    lifts: IndexedSeq[Option[Lift]],
    distinct: Boolean,
    projected: Option[ProjectedRows]
)

/** Counts and sums of the results of a view tree, in total or per group of results with equal
  * projected columns.
  *
  * @param lifts by relation the contribution of its rows; none if they are counted only
  * @param projected by relation that meets the root of the tree, the positions of the projected
  *     columns in its rows; empty: results are not grouped
  * @param fixedWords words of every projected row, 0 if they vary in length
  */
final case class AggregatesDef(
    ring: Ring,
    lifts: IndexedSeq[Option[Lift]],
    projected: Map[Int, IndexedSeq[ProjectedField]] = Map.empty,
    fixedWords: Int = 0
) {
  def isGrouped: Boolean = projected.nonEmpty

  /** The annotation of the nodes of a tree that is aggregated as it is, without components: each
    * result counts as often as it is there, and no relation's rows are projected rows themselves.
    *
    * @param identity projected row → its id; not used if results are not grouped
    */
  private[view] def annotation(identity: KeyIndex): AnnotationDef =
    AnnotationDef(
      ring,
      lifts,
      distinct = false,
      Option.when(isGrouped)(new ProjectedRows(projected, identity, whole = Set.empty))
    )
}

/** The projected rows of a tree: its results, projected to columns of the root.
  *
  * @param columns by relation that meets the root ([[ProjectedRows.atRoot]]): the positions of the
  *     projected columns in its rows
  * @param identity projected row → its id
  * @param whole the relations whose rows are projected rows themselves ([[WholeRows]])
  */
final private[engine] class ProjectedRows(
    val columns: Map[Int, IndexedSeq[ProjectedField]],
    val identity: KeyIndex,
    val whole: Set[Int]
)

private[engine] object ProjectedRows {

  /** The relations that meet the root of a tree: the root itself, or the relations with only
    * generalized nodes above them.
    */
  def atRoot(tree: JoinTree): IndexedSeq[Int] = tree match {
    case RelationNode(r, _, _) => IndexedSeq(r)
    case GeneralizedNode(_, children) => children.flatMap(atRoot)
    case BagNode(_, children) => children.map(_.relation)
  }
}
