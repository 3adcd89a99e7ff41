package org.apache.spark.sql.joinless

import java.util.concurrent.atomic.AtomicReference

import io.joinless.spark.JoinlessConf
import io.joinless.spark.plans.Template
import io.joinless.spark.strategy.JoinFreeStrategy
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.QueryExecution

/** Looks at plans without running them.
  *
  * `Dataset.explain` fails on streams, so the session's optimizer is called on the analyzed plan. Uses `sessionState` of
  * classic sessions, internal to Spark; checked on 4.2.0.
  */
object Inspection {

  /** The plan as its first batch would have it, but for sources that are not opened. */
  def optimized(session: SparkSession, analyzed: LogicalPlan): LogicalPlan = {
    val own = classicOf(session)
    own.withActive(StreamContext.inspecting {
      own.sessionState.optimizer.execute(QueryExecution.normalize(own, analyzed))
    })
  }

  /** The plan of a template as it is when blocks are rewritten: filters pushed, columns pruned. */
  def template(session: SparkSession, analyzed: LogicalPlan): LogicalPlan = {
    val own = classicOf(session)
    val taken = new AtomicReference[LogicalPlan]
    own.withActive(StreamContext.inspecting(own.sessionState.optimizer.execute(Template(analyzed, taken))))
    taken.get
  }

  def conf(session: SparkSession): JoinlessConf = new JoinlessConf(classicOf(session).sessionState.conf)

  def partitions(session: SparkSession): Int = classicOf(session).sessionState.conf.numShufflePartitions

  /** Whether the session plans join blocks: it was created with the extension, by conf or by code. */
  def hasExtension(session: SparkSession): Boolean =
    classicOf(session).sessionState.planner.strategies.exists(_.isInstanceOf[JoinFreeStrategy])

  private def classicOf(session: SparkSession): classic.SparkSession = session.asInstanceOf[classic.SparkSession]
}
