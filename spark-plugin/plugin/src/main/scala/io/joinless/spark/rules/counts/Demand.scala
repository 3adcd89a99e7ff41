package io.joinless.spark.rules.counts

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}

/** The demand of a GROUP BY on its input rows.
  *
  * @param once duplicates of equal rows do not matter
  * @param keys the grouping expressions
  * @param arguments of functions that can be added up, each once
  * @param kept the other columns that it reads
  */
final private[spark] case class Demand(
    once: Boolean,
    keys: IndexedSeq[Expression],
    arguments: IndexedSeq[Expression],
    kept: AttributeSet
) {

  /** The demand on the rows from which its input rows are computed one by one. */
  def ofRows: Demand = copy(keys = IndexedSeq.empty, arguments = IndexedSeq.empty)
}
