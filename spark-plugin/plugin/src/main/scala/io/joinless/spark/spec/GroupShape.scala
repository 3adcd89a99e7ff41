package io.joinless.spark.spec

import org.apache.spark.sql.types.DataType

/** What a query says of a GROUP BY that keeps state: by what rows are grouped, and what is kept of each group.
  *
  * Names are texts over the names of sources, equal in every run of the same query.
  *
  * @param above what projections and conditions make of the groups, up to what keeps state next or to the end: a group must go as
  *   what it came. None where a join is next, which records that itself
  * @param origin what rows are grouped: the query below, up to its sources. What a store holds is read as the groups of a query only where
  *   this is equal. A query goes on where it is not, as in Spark: filters of rows that only come may change. None where the
  *   writing release recorded none
  * @param zone the time zone, where a grouping column, an argument or what is made of the groups depends on it
  * @param closes grouping columns that are times, and how far behind them rows still come: a group is told once, when the watermark has reached
  *   one of these, and goes. Empty where groups are told whenever they change
  */
final case class GroupShape(
    columns: IndexedSeq[ColumnSpec],
    functions: IndexedSeq[FunctionSpec],
    above: Option[RowsSpec] = None,
    zone: Option[String] = None,
    origin: Option[OriginSpec] = None,
    closes: IndexedSeq[TimeSpec] = IndexedSeq.empty
) {

  /** Groups are told once, and go. */
  def isClosing: Boolean = closes.nonEmpty

  /** All that is told of a group is known with its first row, and told then. */
  def tellsFirst: Boolean = isClosing && functions.isEmpty

  /** Some function holds values: they are entries of their own in the store. */
  def holdsValues: Boolean = functions.exists(_.values)

  def text: String = {
    val keys = if (columns.isEmpty) "all rows in one group" else s"by ${columns.map(_.name).mkString(", ")}"
    (keys +: functions.map(_.text)).mkString(", ")
  }
}

/** @param text the function with its argument
  * @param kind what a group keeps for it ([[FunctionKind]])
  * @param argument the type of its argument
  * @param values each different value is held with its number: for DISTINCT, and where the least value can leave
  */
final case class FunctionSpec(text: String, kind: FunctionKind, argument: DataType, values: Boolean) {

  /** Each different value counts once. */
  def isDistinct: Boolean = values && (kind == FunctionKind.Counted || kind == FunctionKind.Summed)
}

/** What a group keeps for a function.
  *
  * @param name stands in checkpoints
  */
sealed abstract class FunctionKind(val name: String)

object FunctionKind {

  /** How many arguments are not NULL. */
  case object Counted extends FunctionKind("count")

  /** How many arguments are not NULL, and their sum without rounding. */
  case object Summed extends FunctionKind("sum")

  /** The least of the arguments that are not NULL. */
  case object Least extends FunctionKind("min")

  /** The greatest of them. */
  case object Greatest extends FunctionKind("max")

  /** The first of the arguments in an order, or all of them. */
  case object Best extends FunctionKind("best")

  /** All of the arguments, over which the function is computed anew. */
  case object Recomputed extends FunctionKind("rows")

  val all: Seq[FunctionKind] = Seq(Counted, Summed, Least, Greatest, Best, Recomputed)
}
