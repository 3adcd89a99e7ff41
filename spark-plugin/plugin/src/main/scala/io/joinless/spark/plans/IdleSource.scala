package io.joinless.spark.plans

import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LocalRelation, LogicalPlan, Statistics}

/** A source without new data in this batch, as an opaque leaf.
  *
  * Spark puts an empty `LocalRelation` there, and its optimizer folds constants, casts and projections into it: the
  * shape of the plan would depend on which sources have data. Behind this leaf every batch looks the same.
  */
final case class IdleSource(output: Seq[Attribute]) extends LeafNode with MultiInstanceRelation {

  override def isStreaming: Boolean = true

  override def newInstance(): LogicalPlan = IdleSource(output.map(_.newInstance()))

  /** As a source with data that reports none. */
  override def computeStats(): Statistics = Statistics(sizeInBytes = conf.defaultSizeInBytes)

  /** What Spark had put there. */
  def relation: LocalRelation = LocalRelation(output, isStreaming = true)
}
