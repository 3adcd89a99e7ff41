package io.joinless.spark.exec.rows

import io.joinless.engine.reduce.ReducedJoin
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.spec.{BlockSpec, ReducedBlock, SumSpec}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The output of a block whose results are counted: rows of the projected columns, with the sums of
  * their results.
  *
  * @param spec with a reduction
  */
final private[spark] class ReducedOutput(spec: BlockSpec, sums: ReducedJoin) {
  private[this] val reduction = spec.shape.reduction.get
  private[this] val block = ReducedBlock(spec.shape, reduction)
  private[this] val output = new OutputRow(block.top, sums.projectedRows, numbers = block.failures.start)

  /** A result as an output row: the same object each time. Throws if an argument of a sum has
    * failed for some of its rows.
    *
    * @param rows per component, the id of its projected row
    * @param changed components whose row may differ from the one before (bit set)
    * @param element number of results, sums, then the number of results of which an argument fails
    */
  def update(rows: Array[Int], changed: Long, element: Array[Long]): UnsafeRow = {
    block.failures.foreach(i => if (element(i) > 0) throw failed(reduction.failures(i - block.failures.start)))
    output.update(rows, changed, element)
  }

  /** The error of a result of which an argument fails. */
  private def failed(failure: SumSpec): Throwable = {
    val columns = failure.factors.map { c =>
      val relation = spec.relations(c.relation)
      (spec.inputs(relation.input).columns(c.ordinal).name, relation.name)
    }
    JoinlessErrors.argumentFails(columns.map(_._1).mkString(" and "), columns.map(_._2).distinct.mkString(" and "))
  }
}
