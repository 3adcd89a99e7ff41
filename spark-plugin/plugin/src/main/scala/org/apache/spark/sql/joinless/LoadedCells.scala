package org.apache.spark.sql.joinless

import scala.util.control.NonFatal

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.{Partition, TaskContext}

/** The rows of cells, with an error of ours for a store that cannot be loaded. All other errors
  * pass.
  *
  * A store is loaded when the partition is computed, before its first row is read, inside Spark's
  * `StateStore.get`: the stack frames of an error show whether it was thrown there.
  *
  * @param unloadable the error to throw for a cell
  */
final private[joinless] class LoadedCells(cells: RDD[InternalRow], unloadable: (Int, Throwable) => Throwable)
    extends RDD[InternalRow](cells) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    firstParent[InternalRow].preferredLocations(split)

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    try firstParent[InternalRow].iterator(split, context)
    catch { case NonFatal(e) if LoadedCells.isOfLoading(e) => throw unloadable(split.index, e) }
}

private object LoadedCells {
  private val Store = classOf[StateStore].getName

  /** Whether an error was thrown while a store was loaded. */
  private def isOfLoading(e: Throwable): Boolean =
    e.getStackTrace.exists(frame =>
      frame.getClassName.stripSuffix("$") == Store && frame.getMethodName.startsWith("get")
    )
}
