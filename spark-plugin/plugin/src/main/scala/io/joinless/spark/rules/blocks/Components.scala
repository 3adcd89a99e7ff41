package io.joinless.spark.rules.blocks

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}

/** The leaves that the equi-join conditions of a block link, including those that fix a column to a
  * constant.
  */
private[spark] object Components {

  /** The connected components of the leaves under equi-join conditions, ordered by their lowest
    * leaf.
    */
  def apply(block: JoinBlock): Seq[Set[Int]] =
    Linked(block.leaves.indices, block.equiJoinConditions.map(e => Set(e.left.leaf, e.right.leaf))).sortBy(_.min)

  /** The leaves whose columns a condition reads. */
  def leavesOf(block: JoinBlock, condition: Expression): Set[Int] = {
    val needed = AttributeSet(OuterScope.attributes(condition))
    block.leaves.indices.filter(i => block.leaves(i).attributes.exists(needed.contains)).toSet
  }
}
