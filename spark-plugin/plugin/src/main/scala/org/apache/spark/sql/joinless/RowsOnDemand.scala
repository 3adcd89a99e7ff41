package org.apache.spark.sql.joinless

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{Dependency, OneToOneDependency, Partition, SparkContext, TaskContext}

/** Rows that are planned when a job reads them, and not before. */
final private class RowsOnDemand(context: SparkContext, @transient rows: () => RDD[InternalRow])
    extends RDD[InternalRow](context, Nil) {
  @transient private lazy val planned = rows()

  override protected def getPartitions: Array[Partition] = planned.partitions

  override protected def getDependencies: Seq[Dependency[_]] = Seq(new OneToOneDependency(planned))

  override def compute(split: Partition, task: TaskContext): Iterator[InternalRow] =
    firstParent[InternalRow].iterator(split, task)
}
