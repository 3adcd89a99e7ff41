package io.joinless.spark.exec

import io.joinless.spark.exec.operator.{NetChanges, PartsRead, ReadInParts}
import io.joinless.spark.exec.rows.{EmitChanges, NetRows}
import io.joinless.spark.plans.values.{Addition, DeltaForm}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.joinless.KeyBytes

/** Emits the net changes of a result in `form`: the operator's weighted rows in, rows with a change
  * column out.
  *
  * The operator's changes are net in each cell, over the block's columns. That is not enough in two
  * cases. First, rows of several cells, or rows that differ in the block's columns only, can be
  * equal here (algorithms A44). Second, the form may want one row for all copies. In these cases
  * this stage adds up weights ([[NetChanges.addition]]), in memory linear in the changes. If cells
  * can yield equal rows ([[io.joinless.spark.plans.values.Addition.hidden]]), rows are first
  * exchanged once by the result's columns.
  *
  * Otherwise rows are streamed through. The stage keeps no state: changes of different batches are
  * never combined.
  */
final case class DeltaRowsExec(form: DeltaForm, projectedColumns: Seq[Int], output: Seq[Attribute], child: SparkPlan)
    extends UnaryExecNode with ReadInParts {

  private lazy val addition: Addition = NetChanges.addition(child, form, projectedColumns)

  private def addsUp: Boolean = addition != Addition.None

  private def crosses: Boolean = addition == Addition.Across

  /** Which partitions were read to their end, where the operators below do not know it. */
  private lazy val partsRead: PartsRead = PartsRead(sparkContext)

  @volatile private var partitions = 0

  override def parts: Int = partitions

  override def partsLeft: Int = partitions - (if (partitions > 0) partsRead.size else 0)

  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override def producedAttributes: AttributeSet = AttributeSet(output)

  /** Equal rows in one partition, if those of several cells are added up. Columns whose values
    * cannot be hashed do not count; if no other column is left, all rows go to one partition.
    */
  override def requiredChildDistribution: Seq[Distribution] =
    if (!crosses) Seq(UnspecifiedDistribution)
    else {
      val hashed = child.output.init.filter(a => KeyBytes.hashable(a.dataType))
      Seq(if (hashed.isEmpty) AllTuples else ClusteredDistribution(hashed))
    }

  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override protected def stringArgs: Iterator[Any] =
    Iterator(form.name) ++ Option.when(addsUp)(if (crosses) "adds up over partitions" else "adds up")

  /** Emits the changes of each partition, added up if that is needed. Partitions that are added up
    * report when they were read to their end.
    */
  override protected def doExecute(): RDD[InternalRow] = {
    val (types, sum, outForm, rowsOut) = (child.output.map(_.dataType), addsUp, form, longMetric("numOutputRows"))
    val changes = child.execute()
    val watch = if (sum) { partitions = changes.getNumPartitions; Some(partsRead) }
    else None
    changes.mapPartitionsWithIndex { (partition, rows) =>
      val columns = types.size - 1
      lazy val unsafe = UnsafeProjection.create(types.toArray)
      // rows are added up by their bytes, and operators differ in how they write a NULL
      val net = if (sum) DeltaRowsExec.addedUp(rows.map(unsafe(_)), columns)
      else rows.map {
        case row: UnsafeRow => row
        case row => unsafe(row)
      }
      val out = EmitChanges(outForm, columns, net, rowsOut)
      watch.fold(out)(_.watched(partition, out))
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): DeltaRowsExec = copy(child = newChild)
}

object DeltaRowsExec {

  /** The net changes of a partition: the weights of equal rows added up, without those that are 0.
    *
    * @param columns of a row, without the weight behind them
    */
  private def addedUp(changes: Iterator[UnsafeRow], columns: Int): Iterator[UnsafeRow] = {
    val net = new NetRows(columns + 1)
    changes.foreach(net.add)
    Iterator.continually(net.next()).takeWhile(identity).map(_ => net.row)
  }
}
