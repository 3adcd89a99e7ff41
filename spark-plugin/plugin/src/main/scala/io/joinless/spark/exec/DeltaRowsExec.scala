package io.joinless.spark.exec

import io.joinless.spark.plans.{DeltaForm, DeltaRows}
import io.joinless.spark.spec.BlockSpec
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.joinless.KeyBytes

/** The net changes of a result, told in `form`: the operator's weighted rows in, rows with a change column out.
  *
  * The operator's changes are net in each cell, over the block's columns. That is not enough where rows of several cells,
  * or rows that differ in the block's columns only, are equal here (algorithms A44), and where the form wants one row
  * for all copies; then this stage adds up weights ([[DeltaRows.addsUp]]), in memory linear in the changes. Where cells
  * can yield equal rows ([[DeltaRows.hidden]]), one exchange by the result's columns comes first.
  *
  * Otherwise rows stream through. The stage keeps no state: changes of different batches never meet.
  */
final case class DeltaRowsExec(form: DeltaForm, blockColumns: Seq[Int], output: Seq[Attribute], child: SparkPlan)
    extends UnaryExecNode {

  private def spec: Option[BlockSpec] = child.collectFirst { case join: JoinFreeExec => join.spec }

  private def addsUp: Boolean = spec.forall(DeltaRows.addsUp(_, form, blockColumns))

  private def crossesCells: Boolean = addsUp && spec.exists(DeltaRows.hidden(_, blockColumns).nonEmpty)

  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def requiredChildDistribution: Seq[Distribution] =
    if (!crossesCells) Seq(UnspecifiedDistribution)
    else {
      val hashed = child.output.init.filter(a => KeyBytes.hashable(a.dataType))
      Seq(if (hashed.isEmpty) AllTuples else ClusteredDistribution(hashed))
    }

  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override protected def stringArgs: Iterator[Any] =
    Iterator(form.name) ++ Option.when(addsUp)(if (crossesCells) "adds up over cells" else "adds up")

  override protected def doExecute(): RDD[InternalRow] = {
    val (types, sum, told, rowsOut) = (child.output.map(_.dataType).init, addsUp, form, longMetric("numOutputRows"))
    child.execute().mapPartitions { rows =>
      val result = UnsafeProjection.create(types.zipWithIndex.map { case (t, i) =>
        BoundReference(i, t, nullable = true)
      })
      val changes = rows.map(row => (result(row), row.getLong(types.size)))
      val net = if (sum) DeltaRowsExec.addedUp(changes, types.size) else changes
      new TellChanges(told, types)(net).map { row =>
        rowsOut += 1
        row
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): DeltaRowsExec = copy(child = newChild)
}

object DeltaRowsExec {

  private def addedUp(changes: Iterator[(UnsafeRow, Long)], columns: Int): Iterator[(UnsafeRow, Long)] = {
    val net = new NetRows(columns)
    changes.foreach { case (row, weight) => net.add(row, weight) }
    Iterator.continually(net.next()).takeWhile(identity).map(_ => (net.row, net.weight))
  }
}
