package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{JoinTree, RelationNode}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.types.{DataType, StructType, TimestampType}

/** The part of a stateful node that follows from the query, and the join tree chosen for it: which
  * rows are stored, what joins, which columns are returned. It is the same in all batches and does
  * not depend on the cluster; the part that does is in [[BlockSpec]].
  *
  * Columns are named by position only, never by expression id.
  */
final case class BlockShape(
    id: NodeId,
    /** Layouts of stored rows; relations of equal layout share one. */
    inputs: IndexedSeq[InputSpec],
    /** Classes of equated columns that at least two relations share. */
    attributes: IndexedSeq[AttributeSpec],
    relations: IndexedSeq[RelationSpec],
    tree: JoinTree,
    residuals: IndexedSeq[ResidualSpec],
    output: IndexedSeq[ColumnRef],
    /** For readers of the checkpoint; nothing else depends on it. None where the writing release
      * did not record it.
      */
    result: Option[ResultSpec] = None,
    /** Static tables are read when rows arrive, wherever they stand in the query. */
    staticsAtArrival: Boolean = false,
    /** Present where rows can be deleted. None where the writing release did not record it. */
    meaning: Option[MeaningSpec] = None,
    /** Equi-join conditions that are no attributes, because filters fix both sides to one value:
      * `relation 1.k = relation 2.k = 5L`. None where the writing release did not record them.
      */
    constants: Option[IndexedSeq[String]] = None,
    /** Per relation, where its rows come from; a complete result must read from the same origins.
      * None where no changes are requested, or the writing release did not record them.
      */
    origins: Option[IndexedSeq[OriginSpec]] = None,
    /** How equal results are counted without enumerating them; None where they are enumerated. */
    reduction: Option[ReductionSpec] = None,
    /** Per relation without a lifetime, the relation whose later rows can join its rows at any time
      * (unbounded). For people; not recorded. Empty where no relation has an event time.
      */
    unboundedBy: IndexedSeq[Option[Int]] = IndexedSeq.empty,
    /** The names of the columns of each stream and projection of the compiled query, in the order
      * in which it passes them on: a source may reorder its columns later. Empty where the query is
      * not compiled, or the writing release did not record them.
      */
    order: IndexedSeq[IndexedSeq[String]] = IndexedSeq.empty
) {

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

  /** The shape with further conditions, per relation, that a changelog's rows have passed. */
  def filteredBefore(filters: IndexedSeq[IndexedSeq[String]]): BlockShape = copy(meaning = meaning.map { m =>
    m.copy(rows = m.rows.zip(filters).map { case (rows, more) =>
      rows.map(r => r.copy(filters = (r.filters ++ more).distinct.sorted))
    })
  })
}

/** The name of a stateful node of a query in all its batches and restarts: the block it belongs to,
  * by position among the query's blocks in preorder, and its stage in that block. Stage 0 is the
  * join; the stateful nodes above it have the next numbers.
  */
final case class NodeId(block: Int, stage: Int = 0)

object NodeId {
  implicit val ordering: Ordering[NodeId] = Ordering.by(id => (id.block, id.stage))
}

/** The operations that the query applies to the block's rows, in a form that any session can read
  * back.
  *
  * Expressions are SQL texts over positions: `c0`, `c1`, … are the columns of `BlockSpec.output`,
  * for a residual those of its `ResidualSpec`. An expression without a text that means the same
  * everywhere (it calls a user's function, say) is None.
  *
  * @param columns names and types of the result
  * @param values the expression of each of them
  * @param filters conditions on the result's rows that the block itself does not check
  * @param residuals the block's residuals, in their order
  * @param confs settings of the session on which the meaning of the texts depends
  */
final case class ResultSpec(
    columns: IndexedSeq[ColumnSpec],
    values: IndexedSeq[Option[String]],
    filters: IndexedSeq[Option[String]],
    residuals: IndexedSeq[Option[String]],
    confs: Map[String, String]
)

/** The filters and expressions that must be the same for a delete as for its insert, as texts over
  * names of columns: which rows of a changelog are stored and with which values, and which results
  * are emitted and with which values. User-defined functions are recorded by name only.
  *
  * @param rows per relation, for a changelog
  * @param conditions those on results, sorted; `r1`, `r2`, … are the relations
  * @param values the result's columns
  * @param zone the session's time zone, where one of these depends on it
  * @param emitted the columns that operators above make of the result's rows one by one (explode,
  *   windows, ROLLUP, UNION), in their order, where no other stateful operator stands above. None
  *   where there are no such operators, or the writing release did not record it
  */
final case class MeaningSpec(
    rows: IndexedSeq[Option[RowsSpec]],
    conditions: IndexedSeq[String],
    values: IndexedSeq[String],
    zone: Option[String] = None,
    emitted: Option[IndexedSeq[String]] = None
)

/** @param values the stored columns
  * @param filters which rows are stored, sorted
  */
final case class RowsSpec(values: IndexedSeq[String], filters: IndexedSeq[String])

/** The origin of the rows of a relation, or of groups.
  *
  * @param rows a digest of what is read: a source, or the query below, up to its sources
  * @param places the locations of these sources where they have one: tables, paths, topics
  * @param filters conditions that stored rows meet, as texts over names of columns, sorted. For
  *   groups they are part of the digest
  */
final case class OriginSpec(rows: String, places: IndexedSeq[String], filters: IndexedSeq[String] = IndexedSeq.empty) {

  def sameRows(that: OriginSpec): Boolean = rows == that.rows && places == that.places
}

/** Layout of the rows of one input: an `UnsafeRow` of these columns, each nullable. */
final case class InputSpec(columns: IndexedSeq[ColumnSpec], kind: InputKind) {

  /** Its rows have an identity, and are counted. */
  def retractable: Boolean = kind.retractable
}

final case class ColumnSpec(name: String, dataType: DataType)

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

/** A row is needed until the watermark has reached each of these times. A row in which one of the
  * columns is NULL joins nothing; where rows are of several kinds (those of a union), it is of
  * another kind.
  *
  * @param others the times of the other kinds
  */
final case class LifetimeSpec(
    until: IndexedSeq[TimeSpec],
    others: IndexedSeq[IndexedSeq[TimeSpec]] = IndexedSeq.empty
) {

  def kinds: IndexedSeq[IndexedSeq[TimeSpec]] = until +: others

  def times: IndexedSeq[TimeSpec] = kinds.flatten
}

/** A time this many microseconds after that of a stored column: a TIMESTAMP, or a window, which
  * stands for its end.
  */
final case class TimeSpec(ordinal: Int, after: Long)

object TimeSpec {
  def isTime(dataType: DataType): Boolean = dataType == TimestampType || isWindow(dataType)

  /** The name of a column's time: for a window that of its end. */
  def nameOf(column: Attribute): String = if (isWindow(column.dataType)) s"${column.name}.end" else column.name

  /** Whether this is the type of Spark's time windows. */
  def isWindow(dataType: DataType): Boolean = dataType match {
    case StructType(Array(start, end)) =>
      start.name == "start" && end.name == "end" && start.dataType == TimestampType && end.dataType == TimestampType
    case _ => false
  }
}

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

/** Stored column `ordinal` of the row bound to `relation`. */
final case class ColumnRef(relation: Int, ordinal: Int)

/** How a block's results are counted, as it is recorded.
  *
  * @param components existential components, each a tree of relations
  * @param top a tree of the components, whose attributes are their projected vertices
  * @param once equal results count once: only whether there are any is emitted
  * @param sums sums over results besides their number
  * @param failures for each, results that have all of its factors are those of which an argument
  *   fails: there must be none
  */
final case class ReductionSpec(
    components: IndexedSeq[JoinTree],
    top: JoinTree,
    once: Boolean = false,
    sums: IndexedSeq[SumSpec] = IndexedSeq.empty,
    failures: IndexedSeq[SumSpec] = IndexedSeq.empty
) {

  /** The vertices that a component projects. */
  def projected(component: Int): BitSet = top.preorder.collectFirst {
    case RelationNode(`component`, attributes, _) => attributes
  }.get
}

/** A sum over results of the product of some stored columns; results with a NULL factor do not
  * count.
  */
final case class SumSpec(factors: IndexedSeq[ColumnRef])
