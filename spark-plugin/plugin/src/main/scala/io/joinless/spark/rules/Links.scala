package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}

/** Which leaves the equations of a block link, those that fix a column to a constant included. */
private[spark] object Links {

  /** The leaves in groups that equations hold together, ordered by their lowest leaf. */
  def apply(block: JoinBlock): Seq[Set[Int]] =
    block.equations
      .foldLeft(block.leaves.indices.map(Set(_)).toSeq) { (groups, e) =>
        val (linked, others) = groups.partition(group => group(e.left.leaf) || group(e.right.leaf))
        linked.flatten.toSet +: others
      }
      .sortBy(_.min)

  def leavesOf(block: JoinBlock, condition: Expression): Set[Int] = {
    val needed = AttributeSet(OuterScope.attributes(condition))
    block.leaves.indices.filter(i => block.leaves(i).attributes.exists(needed.contains)).toSet
  }
}
