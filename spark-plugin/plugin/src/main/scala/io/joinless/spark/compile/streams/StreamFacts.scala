package io.joinless.spark.compile.streams

import io.joinless.spark.plans.nodes.StreamRef
import io.joinless.spark.plans.reasons.UnboundedMatches
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** What is known of the streams of a query: which rows they have, and by which times these close.
  */
private[compile] trait StreamFacts {

  /** Whether rows of the stream have weights: it is a changelog, or the query derives its changes.
    */
  def isChangelog(ref: StreamRef): Boolean

  /** Whether its rows are those of groups of the query. */
  def isGroups(ref: StreamRef): Boolean

  /** The lag of a stream's column that is a closing time
    * ([[io.joinless.spark.rules.time.EventTimes]]), where rows are emitted once they are final.
    */
  def lag(column: Attribute, ref: StreamRef): Option[Long]

  /** The columns of a linear plan that are such times, by position. */
  def times(plan: LogicalPlan): Map[Int, Long]

  /** A relation of one of the query's blocks whose rows have a time and whose matches are
    * unbounded, if there is one.
    */
  def unboundedMatches: Option[UnboundedMatches]
}
