package io.joinless.spark.plans.nodes

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** A table that shows one committed batch, even when later ones are committed. */
trait CommittedTable

object CommittedTable {

  /** Whether a leaf of a plan reads such a table. */
  def isReadBy(leaf: LogicalPlan): Boolean = leaf match {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[CommittedTable]
    case _ => false
  }
}
