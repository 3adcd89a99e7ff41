package io.joinless.spark.plans.nodes

import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LocalRelation, LogicalPlan, Statistics}

/** A source without new data in this batch, as an opaque leaf.
  *
  * Spark uses an empty `LocalRelation`, and its optimizer folds constants, casts and projections
  * into it: the shape of the plan would depend on which sources have data. With this leaf the plan
  * is the same in every batch.
  */
final case class IdleSource(output: Seq[Attribute]) extends LeafNode with MultiInstanceRelation {

  override def isStreaming: Boolean = true

  override def newInstance(): LogicalPlan = IdleSource(output.map(_.newInstance()))

  /** The statistics of a source with data that reports none. */
  override def computeStats(): Statistics = Statistics(sizeInBytes = conf.defaultSizeInBytes)

  /** The relation that Spark uses here. */
  def relation: LocalRelation = LocalRelation(output, isStreaming = true)
}
