package io.joinless.spark.changes

import io.joinless.spark.plans.marks.UnresolvedKey
import org.apache.spark.sql.catalyst.FunctionIdentifier

/** `joinless.key` in SQL: `SELECT * FROM key(TABLE(orders), id)`; with several columns
  * `key(TABLE(orders), (shop, id))`.
  */
object KeyInSql {

  private val name = "key"

  val description: TableFunctions.Registered = (
    FunctionIdentifier(name),
    TableFunctions.info(
      getClass.getName,
      name,
      "TABLE(rows), key",
      "the rows of a stream of which at most one has the same values in the columns of the key. A second one is an error, which fails the " +
        "batch. Several columns are in parentheses. Request the changes of a query over it by incremental_enumerate.",
      "TABLE(orders), (shop, id)"
    ),
    {
      case Seq(TableFunctions.Table(rows), TableFunctions.Columns(key)) => UnresolvedKey(rows, key)
      case arguments => throw TableFunctions.refused(name, "key(TABLE(orders), (shop, id))", arguments)
    }
  )
}
