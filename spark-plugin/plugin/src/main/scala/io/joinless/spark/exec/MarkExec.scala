package io.joinless.spark.exec

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** A mark that was not compiled, in a plan that is only explained.
  *
  * @param mark its name, as the plan shows it
  */
final case class MarkExec(mark: String, output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {

  override def nodeName: String = mark

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override protected def stringArgs: Iterator[Any] = Iterator(output)

  override protected def doExecute(): RDD[InternalRow] = throw JoinlessErrors.streamNotStarted(s"it has a $mark")

  override protected def withNewChildInternal(newChild: SparkPlan): MarkExec = copy(child = newChild)
}
