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
      case Seq(TableFunctions.Table(query), Number(size), Number(seed), Replacement(again)) =>
        UnresolvedSample(query, size, seed, Nil, again)
      case TableFunctions.Table(query) +: Number(size) +: TableFunctions.Names(by) =>
        UnresolvedSample(query, size, 0L, by, replacement = false)
      case arguments => throw JoinlessErrors.sampleArguments(arguments.map(TableFunctions.text).mkString(", "))
    }
  )

  /** Whether a row may be drawn several times. */
  private object Replacement {
    def unapply(argument: Expression): Option[Boolean] = argument match {
      case TableFunctions.Named("replacement", Literal(again: Boolean, BooleanType)) => Some(again)
      case _ => None
    }
  }
}
