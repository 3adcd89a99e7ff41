package io.joinless.spark.exec

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.util.CollectionAccumulator

/** An operator of which every partition must be read to its end, by one action of a batch or another. */
private[spark] trait ReadInParts {

  /** How many partitions it has; 0 where no action has run. */
  def parts: Int

  /** How many of them nothing has read to their end. */
  def partsLeft: Int
}

/** Which partitions were read to their end. Tasks tell the driver; what an attempt told that failed does not count. */
final private[exec] class PartsRead(told: CollectionAccumulator[Integer]) extends Serializable {

  /** How many. For the driver. */
  def size: Int = told.value.asScala.toSet.size

  /** The rows of a partition; it tells of itself when there are no more. */
  def watched[A](part: Int, rows: Iterator[A]): Iterator[A] = AtEnd(rows)(told.add(part))
}

private[exec] object PartsRead {
  def apply(context: SparkContext): PartsRead = new PartsRead(context.collectionAccumulator[Integer])
}
