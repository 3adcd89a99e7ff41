package io.joinless.spark.spec

import org.apache.spark.sql.types.DataType

/** The part of a stateful GROUP BY that follows from the query: the grouping columns, and the state
  * of each group.
  *
  * Names are texts over the names of sources, equal in every run of the same query.
  *
  * @param above projections and conditions on the groups, up to the next stateful operator or to
  *   the end: a group must be deleted with the values it was inserted with. None where a join is
  *   next, which records that itself
  * @param origin the query below, up to its sources. A store is read as the groups of a query only
  *   where this is equal. A query is continued where it is not, as in Spark: filters of insert-only
  *   rows may change. None where the writing release did not record it
  * @param zone the time zone, where a grouping column, an argument or an expression over the groups
  *   depends on it
  * @param closes grouping columns that are times, and how far behind them rows can still be
  *   inserted: a group is emitted once, when the watermark has reached one of these, and is
  *   evicted. Empty where groups are emitted whenever they change
  * @param order as [[ColumnsInOrder]] of a block
  * @param emitted as `emitted` of [[MeaningSpec]]
  */
final case class GroupShape(
    columns: IndexedSeq[ColumnSpec],
    functions: IndexedSeq[FunctionSpec],
    above: Option[RowsSpec] = None,
    zone: Option[String] = None,
    origin: Option[OriginSpec] = None,
    closes: IndexedSeq[TimeSpec] = IndexedSeq.empty,
    order: IndexedSeq[IndexedSeq[String]] = IndexedSeq.empty,
    emitted: Option[IndexedSeq[String]] = None
) {

  /** Groups are emitted once, and evicted. */
  def isClosing: Boolean = closes.nonEmpty

  /** All emitted columns of a group are known with its first row, and emitted then. */
  def emitsFirst: Boolean = isClosing && functions.isEmpty

  /** Some function stores its values: they are entries of their own in the store. */
  def holdsValues: Boolean = functions.exists(_.values)

  /** The rows of groups are joined by their times. It is the only function then. */
  def isAsOf: Boolean = functions.exists(_.kind == FunctionKind.AsOf)

  /** The groups are the keys of a relation, each with its only row. */
  def isKey: Boolean = functions.exists(_.kind == FunctionKind.Only)

  def text: String = {
    val keys = if (columns.isEmpty) "all rows in one group" else s"by ${columns.map(_.name).mkString(", ")}"
    (keys +: functions.map(_.text)).mkString(", ")
  }
}

/** @param text the function with its argument
  * @param kind the state that a group keeps for it ([[FunctionKind]])
  * @param argument the type of its argument
  * @param values each distinct value is stored with its number: for DISTINCT, and where the least
  *   value can be deleted
  */
final case class FunctionSpec(text: String, kind: FunctionKind, argument: DataType, values: Boolean) {

  /** Each distinct value counts once. */
  def isDistinct: Boolean = values && (kind == FunctionKind.Counted || kind == FunctionKind.Summed)
}

/** The state that a group keeps for a function.
  *
  * @param name stands in checkpoints
  */
sealed abstract class FunctionKind(val name: String)

object FunctionKind {

  /** The number of arguments that are not NULL. */
  case object Counted extends FunctionKind("count")

  /** The number of arguments that are not NULL, and their sum without rounding. */
  case object Summed extends FunctionKind("sum")

  /** The least of the arguments that are not NULL. */
  case object Least extends FunctionKind("min")

  /** The greatest of them. */
  case object Greatest extends FunctionKind("max")

  /** The first of the arguments in an order, or all of them. */
  case object Best extends FunctionKind("best")

  /** All of the arguments, from which the function is recomputed. */
  case object Recomputed extends FunctionKind("rows")

  /** The arguments by their side and time, of which an as-of join reads few per change. */
  case object AsOf extends FunctionKind("asof")

  /** The only row of a declared key. */
  case object Only extends FunctionKind("only")

  val all: Seq[FunctionKind] = Seq(Counted, Summed, Least, Greatest, Best, Recomputed, AsOf, Only)
}
