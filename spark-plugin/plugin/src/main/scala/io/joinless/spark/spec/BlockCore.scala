package io.joinless.spark.spec

import io.joinless.engine.query.{BagNode, JoinTree}
import org.apache.spark.sql.types.DataType

/** What each join block has: which rows are stored, what joins, which columns are returned, and the
  * join tree chosen for it. What a block may have besides are its properties ([[BlockProperty]]).
  *
  * Columns are named by position only, never by expression id.
  */
trait BlockCore {
  def id: NodeId

  /** Layouts of stored rows; relations of equal layout share one. */
  def inputs: IndexedSeq[InputSpec]

  /** Classes of equated columns that at least two relations share. */
  def attributes: IndexedSeq[AttributeSpec]

  def relations: IndexedSeq[RelationSpec]
  def tree: JoinTree
  def residuals: IndexedSeq[ResidualSpec]
  def output: IndexedSeq[ColumnRef]

  /** The relations are joined by intersection: their equi-join conditions form a cycle. */
  def isBag: Boolean = tree.isInstanceOf[BagNode]

  /** An equi-join condition that would make the join cyclic is checked on results. */
  def closesCycle: Boolean = residuals.exists(_.closesCycle)

  /** Rows have an identity and carry weights. */
  def retractable: Boolean = inputs.exists(_.retractable)

  /** Rows can be deleted. */
  def rowsLeave: Boolean = inputs.exists(_.kind.leaves)

  /** Rows are evicted once they can be part of no further result; results stay. */
  def forgets: Boolean = !retractable && relations.exists(_.lifetime.isDefined)

  /** Rows are deleted at the end of their lifetime, and results with them. */
  def expires: Boolean = inputs.exists(_.kind.expires)

  /** The log of a cell is cleaned: its entries have weights, and its blocks say which of their rows
    * are present.
    */
  def logIsCleaned: Boolean = retractable || forgets

  /** The stored columns of a relation. */
  def stored(relation: RelationSpec): IndexedSeq[ColumnSpec] = inputs(relation.input).columns

  /** The name of a stored column, for sentences.
    *
    * @param aliases the block whose names of relations are used; a recorded block may have older
    *   ones
    */
  def nameOf(column: ColumnRef, aliases: BlockCore): String =
    s"${aliases.relations(column.relation).name}.${stored(relations(column.relation))(column.ordinal).name}"

  /** The names of the relations, for sentences. */
  def names: String = relations.map(_.name).mkString(", ")
}

/** The name of a stateful node of a query in all its batches and restarts: the block it belongs to,
  * by position among the query's blocks in preorder, and its stage in that block. Stage 0 is the
  * join; the stateful nodes above it have the next numbers.
  */
final case class NodeId(block: Int, stage: Int = 0)

object NodeId {
  implicit val ordering: Ordering[NodeId] = Ordering.by(id => (id.block, id.stage))
}

/** `nullSafe`: every equi-join condition of the class is `<=>`, so NULL is a value; otherwise a
  * NULL never joins.
  */
final case class AttributeSpec(name: String, dataType: DataType, nullSafe: Boolean)

/** A role of an input. `keys` are in ascending order of attribute; at most one per attribute.
  *
  * @param lifetime how long its rows are needed; None where they are kept
  */
final case class RelationSpec(
    name: String,
    input: Int,
    keys: IndexedSeq[KeySpec],
    lifetime: Option[LifetimeSpec] = None
)

/** The attribute's value in a row is the stored column at `ordinal`; equal values have equal bytes
  * there.
  */
final case class KeySpec(attribute: Int, ordinal: Int)

/** A condition over several relations that is checked on each result; its expression refers to
  * `columns` by position.
  *
  * @param closesCycle an equi-join condition without which the others have a join tree
  */
final case class ResidualSpec(sql: String, columns: IndexedSeq[ColumnRef], closesCycle: Boolean = false)
