package io.joinless.spark.inspect

import java.util.concurrent.atomic.AtomicReference

import io.joinless.spark.checkpoint.{RunState, StreamContext}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.nodes.{JoinFreeJoin, PlansJoinBlocks, Template}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{CurrentBatchTimestamp, CurrentDate, CurrentTimestamp, LocalTimestamp}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.joinless.SessionPlans

/** Inspects plans without running them. It can be called from anywhere, also inside Spark's
  * analyzer, when a query starts.
  *
  * `Dataset.explain` fails on streams, so the session's optimizer is called on the analyzed plan.
  */
object Inspection {

  /** The plan as its first batch would have it, but sources are not opened.
    *
    * @param as decisions made for the query before
    */
  def optimized(session: SparkSession, analyzed: LogicalPlan, as: RunState = RunState.NoQuery): LogicalPlan =
    looking(session, as, Some(analyzed)) { own =>
      own.optimized(own.normalized(withBatchTime(analyzed)))
    }

  /** Whether a block of the plan of a batch, which is normalized already, would be rewritten. The
    * plan itself is not changed.
    */
  def rewrites(session: SparkSession, normalized: LogicalPlan): Boolean =
    looking(session, RunState.NoQuery, StreamContext.query(session))(_.optimized(normalized.clone())).exists {
      _.isInstanceOf[JoinFreeJoin]
    }

  /** The plan of a template at the time when blocks are rewritten: filters pushed, columns pruned.
    *
    * @param without names of rules of the optimizer that are left out
    */
  def template(session: SparkSession, analyzed: LogicalPlan, without: Seq[String]): LogicalPlan = {
    val taken = new AtomicReference[LogicalPlan]
    val _ = looking(session, RunState.NoQuery, None)(_.optimized(Template(analyzed, taken), without))
    taken.get
  }

  /** Computes a plan with the rules of the session, in its settings; rules see no running batch,
    * but `as` and `query`.
    */
  private def looking(session: SparkSession, as: RunState, query: Option[LogicalPlan])(
      look: SessionPlans => LogicalPlan
  ): LogicalPlan = {
    val own = new SessionPlans(session)
    own.active(StreamContext.inspecting(look(own), as, query))
  }

  /** Replaces expressions of the current time as a batch does: all have one time, and the optimizer
    * does not evaluate them.
    */
  private def withBatchTime(plan: LogicalPlan): LogicalPlan = {
    val now = System.currentTimeMillis
    plan.transformAllExpressionsWithPruning(_.containsPattern(CURRENT_LIKE)) {
      case e: CurrentTimestamp => CurrentBatchTimestamp(now, e.dataType, Some("UTC"))
      case e: LocalTimestamp => CurrentBatchTimestamp(now, e.dataType, e.timeZoneId)
      case e: CurrentDate => CurrentBatchTimestamp(now, e.dataType, e.timeZoneId)
    }
  }

  /** Runs `body` in the settings of a session, in any thread ([[SessionPlans.active]]). */
  def within[A](session: SparkSession)(body: => A): A = new SessionPlans(session).active(body)

  /** The settings of a session. */
  def conf(session: SparkSession): JoinlessConf = new JoinlessConf(new SessionPlans(session).conf)

  /** The number of partitions of an exchange in the session. */
  def partitions(session: SparkSession): Int = new SessionPlans(session).conf.numShufflePartitions

  /** Fails in a session without the extension that is to rewrite every join. */
  def checkForced(session: SparkSession): Unit = {
    val settings = conf(session)
    if (settings.enabled && settings.forced && !hasExtension(session)) throw JoinlessErrors.extensionNotInstalled()
  }

  /** Whether the session plans join blocks: it was created with the extension, by conf or by code.
    */
  def hasExtension(session: SparkSession): Boolean =
    new SessionPlans(session).strategies.exists(_.isInstanceOf[PlansJoinBlocks])
}
