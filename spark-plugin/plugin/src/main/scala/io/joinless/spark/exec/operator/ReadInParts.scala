package io.joinless.spark.exec.operator

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.util.CollectionAccumulator

/** An operator of which every partition must be read to its end, by one action of a batch or
  * another.
  */
private[spark] trait ReadInParts {

  /** The number of its partitions; 0 if no action has run. */
  def parts: Int

  /** The number of partitions that nothing has read to their end. */
  def partsLeft: Int
}

/** The partitions that were read to their end. Tasks report to the driver; reports of failed
  * attempts do not count.
  */
final private[exec] class PartsRead(reported: CollectionAccumulator[Integer]) extends Serializable {

  /** The number of such partitions. For the driver. */
  def size: Int = reported.value.asScala.toSet.size

  /** The rows of a partition; the partition is reported when they are exhausted. */
  def watched[A](part: Int, rows: Iterator[A]): Iterator[A] = AtEnd(rows)(reported.add(part))
}

private[exec] object PartsRead {
  def apply(context: SparkContext): PartsRead = new PartsRead(context.collectionAccumulator[Integer])
}
