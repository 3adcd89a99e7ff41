package io.joinless.spark.checkpoint

import io.joinless.spark.spec.{BlockSpec, GroupShape}

/** A block that a checkpoint holds.
  *
  * @param operator the id of its stateful operator
  * @param partitions number of stores in the operator's metadata
  */
final case class Recorded(spec: BlockSpec, operator: Long, partitions: Int)

/** Groups that a checkpoint holds.
  *
  * @param operator the id of their stateful operator
  * @param partitions number of stores in the operator's metadata
  */
final case class RecordedGroups(shape: GroupShape, operator: Long, partitions: Int)
