package io.joinless.spark.exec.groups

import io.joinless.spark.state.groups.GroupArgument
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, JoinedRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.types.{BinaryType, DataType}

/** The change of each group by the rows of one partition: weighted rows in; grouping columns and
  * totals ([[io.joinless.spark.state.groups.GroupTotals]]) out, a row per group. So the exchange
  * moves groups, not rows.
  *
  * Memory is linear in the groups of the partition.
  *
  * @param keys the number of grouping columns, which are the child's first; its last is the weight
  */
final case class PartialGroupsExec(
    arguments: Seq[GroupArgument],
    keys: Int,
    output: Seq[Attribute],
    child: SparkPlan
) extends UnaryExecNode {

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override protected def stringArgs: Iterator[Any] = Iterator(output.take(keys))

  /** Adds up all rows of a partition, then returns a row per group: its key, and the bytes of its
    * totals.
    */
  override protected def doExecute(): RDD[InternalRow] = {
    val (types, groupArguments, weight) =
      (child.output.take(keys).map(_.dataType), arguments.toArray, child.output.size - 1)
    child.execute().mapPartitions { rows =>
      val groups = new TouchedGroups(groupArguments)
      val key = UnsafeProjection.create(types.toArray)
      TouchedGroups.adding(rows.foreach(row => groups(key(row)).add(row, row.getLong(weight))))
      val joined = UnsafeProjection.create((types :+ BinaryType).toArray[DataType])
      groups.iterator.map { case (group, totals) =>
        joined(new JoinedRow(group, InternalRow(totals.toBytes)))
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PartialGroupsExec = copy(child = newChild)
}
