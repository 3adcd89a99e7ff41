package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}

/** What a GROUP BY needs of its input rows.
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

  /** What it needs of the rows from which its input rows are made one by one. */
  def ofRows: Demand = copy(keys = IndexedSeq.empty, arguments = IndexedSeq.empty)
}
