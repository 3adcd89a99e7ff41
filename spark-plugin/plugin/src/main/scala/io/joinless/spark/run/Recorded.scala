package io.joinless.spark.run

import io.joinless.spark.spec.{BlockSpec, GroupShape}

/** A block that a checkpoint holds.
  *
  * @param operator the id of its stateful operator
  * @param partitions how many stores the operator's metadata counts
  */
final case class Recorded(spec: BlockSpec, operator: Long, partitions: Int)

/** Groups that a checkpoint holds.
  *
  * @param operator the id of their stateful operator
  * @param partitions how many stores the operator's metadata counts
  */
final case class RecordedGroups(shape: GroupShape, operator: Long, partitions: Int)
