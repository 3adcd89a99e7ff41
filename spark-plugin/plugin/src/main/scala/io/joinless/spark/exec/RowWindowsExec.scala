package io.joinless.spark.exec

import io.joinless.spark.plans.values.WindowFunctions
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, BoundReference, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.window.WindowExec
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** Spark's own window operator over rows that are already grouped by partition and ordered, as are
  * the rows of a group that is emitted as one array ([[io.joinless.spark.plans.values.BestRows]]).
  * Nothing is exchanged and nothing is sorted.
  */
final case class RowWindowsExec(windows: WindowFunctions, output: Seq[Attribute], child: SparkPlan)
    extends UnaryExecNode {

  /** The columns that the window functions add. */
  private def functionColumns: Seq[Attribute] = output.drop(child.output.size)

  override def producedAttributes: AttributeSet = AttributeSet(functionColumns)

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override protected def stringArgs: Iterator[Any] = Iterator(functionColumns)

  override protected def doExecute(): RDD[InternalRow] = {
    val functions = windows.functions.zip(functionColumns).map { case (f, a) =>
      Alias(overChild(f), a.name)(a.exprId)
    }
    val order = windows.order.map(overChild(_).asInstanceOf[SortOrder])
    WindowExec(functions, windows.partition.map(child.output), order, child).execute()
  }

  /** An expression over positions, over the columns of the child. */
  private def overChild(e: Expression): Expression = e.transform { case BoundReference(i, _, _) => child.output(i) }

  override protected def withNewChildInternal(newChild: SparkPlan): RowWindowsExec = copy(child = newChild)
}
