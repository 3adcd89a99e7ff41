package io.joinless.spark.changes

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.UnresolvedSample
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, Literal, UnaryMinus}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{IntegerType, LongType}

/** `joinless.sample` in SQL: `SELECT * FROM sample(TABLE(<query>), 1000, 7)`; of each group of rows
  * `sample(TABLE(<query>), 10, 7, city, day)`.
  */
object SampleInSql {

  private val name = "sample"

  val description: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan) = (
    FunctionIdentifier(name),
    TableFunctions.info(
      getClass.getName,
      name,
      "TABLE(query), size[, seed][, column, ...]",
      "a sample of the rows of a query over streams, without replacement, in which each row is as likely as the others. With columns, it is " +
        "one of each group of rows that have the same values in them. It is kept up to date: request its changes by incremental_enumerate.",
      "TABLE(SELECT a.src, b.dst FROM edges a JOIN edges b ON a.dst = b.src), 1000, 7"
    ),
    {
      case TableFunctions.Table(query) +: Number(size) +: Number(seed) +: TableFunctions.Names(by) =>
        UnresolvedSample(query, size, seed, by)
      case TableFunctions.Table(query) +: Number(size) +: TableFunctions.Names(by) =>
        UnresolvedSample(query, size, 0L, by)
      case arguments => throw JoinlessErrors.sampleArguments(arguments.map(TableFunctions.text).mkString(", "))
    }
  )

  /** A whole number, as a literal, negative or not. */
  private object Number {
    def unapply(argument: Expression): Option[Long] = argument match {
      case Literal(value: Int, IntegerType) => Some(value.toLong)
      case Literal(value: Long, LongType) => Some(value)
      case UnaryMinus(Number(value), _) => Some(-value)
      case _ => None
    }
  }
}
