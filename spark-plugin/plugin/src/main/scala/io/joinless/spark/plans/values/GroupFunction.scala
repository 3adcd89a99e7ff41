package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction

/** An aggregate function over the rows of a group.
  *
  * @param function Spark's function; its argument is a `BoundReference`, from which it has its
  *   types. It computes the value from the state of the group
  * @param argument the column of the groups' input that it reads; None for COUNT(*)
  * @param sum None where that column is the argument of a row; else the parts of a sum, in the
  *   columns from there on, that the row adds with its weight
  */
final case class GroupFunction(function: AggregateFunction, argument: Option[Int], sum: Option[Seq[SumPart]] = None)
