package io.joinless.spark.changes

import io.joinless.spark.plans.marks.{UnresolvedCall, UnresolvedChangelog, UnresolvedLatest}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.Expression

/** `joinless.changelog` in SQL: `SELECT * FROM changelog(TABLE(feed))`, by the column
  * `_change_type`; `changelog(TABLE(feed), op)` by another column, of change types if it holds
  * texts, of weights if it holds whole numbers; `changelog(TABLE(feed), weight => n)` by one that
  * must be of weights.
  */
object ChangelogInSql {

  private val name = "changelog"

  val description: TableFunctions.Registered = (
    FunctionIdentifier(name),
    TableFunctions.info(
      getClass.getName,
      name,
      "TABLE(feed)[, column]",
      "the relation whose changes are the rows of a stream. The column says how a row counts: by a change type ('insert', 'delete' and " +
        "others), or by a signed whole number of copies. Without a column it is _change_type. With change_type => or weight => it must be that kind. Request the changes of a query over it by " +
        "incremental_enumerate.",
      "TABLE(orders_feed)"
    ),
    {
      case Seq(TableFunctions.Table(feed)) => UnresolvedChangelog(feed, None)
      case Seq(TableFunctions.Table(feed), TableFunctions.Columns(Seq(column))) =>
        UnresolvedChangelog(feed, Some(column))
      case TableFunctions.Table(feed) +: Named(columns) =>
        UnresolvedCall(name, Seq(feed))((_, feeds) =>
          Changes.changelog(feeds.head, columns.get("change_type"), columns.get("weight"))
        )
      case arguments => throw TableFunctions.refused(name, "changelog(TABLE(feed), _change_type)", arguments)
    }
  )
}

/** Columns of changes that are given by `change_type =>` or `weight =>`. */
private object Named {
  def unapply(arguments: Seq[Expression]): Option[Map[String, String]] = {
    val named = arguments.collect {
      case TableFunctions.Named(kind @ ("change_type" | "weight"), TableFunctions.Columns(Seq(column))) =>
        kind -> column
    }.toMap
    Option.when(named.size == arguments.size)(named)
  }
}

/** `joinless.latest` in SQL: `SELECT * FROM latest(TABLE(upserts), id, at)`; with several columns
  * `latest(TABLE(upserts), (shop, id), (at, version))`.
  */
object LatestInSql {

  private val name = "latest"

  val description: TableFunctions.Registered = (
    FunctionIdentifier(name),
    TableFunctions.info(
      getClass.getName,
      name,
      "TABLE(upserts), key, order",
      "the newest row of each key: of the rows that have the same values in the columns of the key, the one with the greatest values in " +
        "the columns of the order. Several columns are in parentheses.",
      "TABLE(upserts), (shop, id), at"
    ),
    {
      case Seq(TableFunctions.Table(rows), TableFunctions.Columns(key), TableFunctions.Columns(order)) =>
        UnresolvedLatest(rows, key, order)
      case arguments => throw TableFunctions.refused(name, "latest(TABLE(upserts), (shop, id), at)", arguments)
    }
  )
}
