package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}

/** What a GROUP BY needs of the rows that it groups.
  *
  * @param once equal rows are as good as one
  * @param keys by which it groups
  * @param arguments of functions that can take in sums, each once
  * @param kept the columns that it reads besides
  */
final private[spark] case class Demand(
    once: Boolean,
    keys: IndexedSeq[Expression],
    arguments: IndexedSeq[Expression],
    kept: AttributeSet
) {

  /** Of rows that are made of others one by one, from these. */
  def ofRows: Demand = copy(keys = IndexedSeq.empty, arguments = IndexedSeq.empty)
}
