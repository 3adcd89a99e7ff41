package org.apache.spark.sql.joinless

import java.lang.reflect.Field

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** Adds hint-resolution rules to the analyzer of a session with Hive, which ignores those that an
  * extension injects (SPARK-59081).
  *
  * A resolution rule, which such an analyzer does apply: at the first plan that it resolves, the
  * rules are added for all plans after it. Where the analyzer has them, nothing happens.
  *
  * They are in a private field of the analyzer, which reads it at each plan.
  *
  * @param rules all of them; none has a class that another has
  */
final class HintRules(session: SparkSession, rules: Seq[Rule[LogicalPlan]]) extends Rule[LogicalPlan] {

  @volatile private var seen = false

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (!seen) synchronized {
      HintRules.add(classicOf(session).sessionState.analyzer, rules)
      seen = true
    }
    plan
  }
}

object HintRules {

  /** The field that an analyzer reads: the one of its most specific class. */
  private[joinless] def field(analyzer: Analyzer): Field = {
    val found = Iterator.iterate[Class[_]](analyzer.getClass)(_.getSuperclass).takeWhile(_ != null)
      .flatMap(_.getDeclaredFields).find(_.getName == "hintResolutionRules").get
    found.setAccessible(true)
    found
  }

  /** Adds the rules that an analyzer lacks. Where that fails, the analyzer stays as it is, and
    * queries that need the rules are refused when they start.
    */
  private def add(analyzer: Analyzer, rules: Seq[Rule[LogicalPlan]]): Unit = {
    val lacking = rules.filterNot(rule => analyzer.hintResolutionRules.exists(_.getClass == rule.getClass))
    if (lacking.nonEmpty) {
      val _ = Try(field(analyzer).set(analyzer, analyzer.hintResolutionRules ++ lacking))
    }
  }
}
