package io.joinless.spark.changes

import io.joinless.spark.changes.TableFunctions.Number
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.UnresolvedSample
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.types.BooleanType

/** `joinless.sample` in SQL: `SELECT * FROM sample(TABLE(<query>), 1000, 7)`; of each group of rows
  * `sample(TABLE(<query>), 10, 7, city, day)`; of a complete result with replacement
  * `sample(TABLE(result), 1000, 7, replacement => true)`.
  */
object SampleInSql {

  private val name = "sample"

  val description: TableFunctions.Registered = (
    FunctionIdentifier(name),
    TableFunctions.info(
      getClass.getName,
      name,
      "TABLE(query), size[, seed][, column, ...]",
      "a sample of the rows of a query over streams, without replacement, in which each row is as likely as the others. With columns, it is " +
        "one of each group of rows that have the same values in them. It is kept up to date: request its changes by incremental_enumerate. Of a complete result it is drawn once, with replacement => true with replacement.",
      "TABLE(SELECT a.src, b.dst FROM edges a JOIN edges b ON a.dst = b.src), 1000, 7"
    ),
    {
      case TableFunctions.Table(query) +: Number(size) +: Number(seed) +: TableFunctions.Names(by) =>
        UnresolvedSample(query, size, seed, by, replacement = false)
      case TableFunctions.Table(query) +: Drawn(size, seed, again) => UnresolvedSample(query, size, seed, Nil, again)
      case TableFunctions.Table(query) +: Number(size) +: TableFunctions.Names(by) =>
        UnresolvedSample(query, size, 0L, by, replacement = false)
      case arguments => throw JoinlessErrors.sampleArguments(arguments.map(TableFunctions.text).mkString(", "))
    }
  )

  /** The size, the seed and whether a row may be drawn several times: some of them by their names. */
  private object Drawn {
    private val names = Seq("size", "seed", "replacement")

    def unapply(arguments: Seq[Expression]): Option[(Long, Long, Boolean)] = {
      val values = TableFunctions.byName(names, arguments).getOrElse(Map.empty)
      def number(name: String): Option[Long] = values.get(name).collect { case Number(n) => n }
      val again = values.get("replacement").collect { case Literal(flag: Boolean, BooleanType) => flag }
      val read = number("size").size + number("seed").size + again.size
      val isNamed = arguments.exists(TableFunctions.Named.unapply(_).isDefined)
      number("size").filter(_ => isNamed && read == arguments.size)
        .map((_, number("seed").getOrElse(0L), again.getOrElse(false)))
    }
  }
}
