package org.apache.spark.sql.joinless

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf

/** The session's own parser, analyzer and optimizer, called on plans that are never executed; and
  * its conf.
  *
  * Uses `sessionState` of classic sessions, internal to Spark.
  */
final class SessionPlans(val session: SparkSession) {
  private val own = classicOf(session)

  def conf: SQLConf = own.sessionState.conf

  /** Runs `body` with this session as the active one of the thread, and with its settings in force,
    * whatever the thread has: texts of expressions and the analyzer read them there. Code that
    * reads, records or compares plans of a session runs in it.
    */
  def active[A](body: => A): A = own.withActive(SQLConf.withExistingConf(conf)(body))

  def parseExpression(text: String): Expression = own.sessionState.sqlParser.parseExpression(text)

  /** The plan with its names resolved, checked. */
  def analyzed(plan: LogicalPlan): LogicalPlan = {
    val analyzed = own.sessionState.analyzer.execute(plan)
    own.sessionState.analyzer.checkAnalysis(analyzed)
    analyzed
  }

  /** The plan after the session's normalization rules. */
  def normalized(analyzed: LogicalPlan): LogicalPlan = QueryExecution.normalize(own, analyzed)

  /** The plan after the session's optimizer.
    *
    * @param without names of rules that are left out
    */
  def optimized(plan: LogicalPlan, without: Seq[String] = Nil): LogicalPlan = {
    val settings = if (without.isEmpty) conf else conf.clone()
    if (without.nonEmpty) {
      val excluded = conf.optimizerExcludedRules.filter(_.nonEmpty).toSeq ++ without
      settings.setConfString(SQLConf.OPTIMIZER_EXCLUDED_RULES.key, excluded.mkString(","))
    }
    SQLConf.withExistingConf(settings)(own.sessionState.optimizer.execute(plan))
  }

  def strategies: Seq[SparkStrategy] = own.sessionState.planner.strategies.collect { case s: SparkStrategy => s }

  /** The class that evaluates a built-in or temporary function of that name. */
  def functionClass(name: String): Option[String] =
    own.sessionState.catalog.lookupBuiltinOrTempFunction(name).map(_.getClassName)

  /** A session of the same application without the settings, functions and views of this one. */
  def fresh(): SessionPlans = new SessionPlans(own.newSession())
}
