package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, Command, LogicalPlan, ParsedStatement, WithCTE}
import org.apache.spark.sql.{DataFrame, SparkSession, classic}

/** Queries given as text. Spark's parser and analyzer belong to the session's state, which is
  * private to Spark; checked on 4.2.0.
  */
object QueryTexts {

  /** The analyzed plan of a query; None if the text is another statement. Nothing is executed.
    *
    * @param named relations that the text calls by these names, whatever else is called so
    */
  def analyzed(session: SparkSession, text: String, named: Map[String, DataFrame]): Option[LogicalPlan] = {
    // temporary views of another session with the same catalog and settings
    val own = if (named.isEmpty) classicOf(session) else classicOf(session).cloneSession()
    own.withActive {
      named.foreach { case (name, df) =>
        classic.Dataset.ofRows(own, Plans.analyzed(df)).createOrReplaceTempView(name)
      }
      val parsed = own.sessionState.sqlParser.parsePlan(text)
      Option.when(!isStatement(parsed)) {
        val execution = own.sessionState.executePlan(parsed)
        execution.assertAnalyzed()
        execution.analyzed
      }
    }
  }

  private def isStatement(plan: LogicalPlan): Boolean = plan.exists {
    case _: Command | _: ParsedStatement => true
    case _ => false
  }

  /** The plan with these relations replaced wherever they are, in subqueries, too. References to
    * common table expressions that read streams then say so.
    */
  def replaced(plan: LogicalPlan)(rule: PartialFunction[LogicalPlan, LogicalPlan]): LogicalPlan =
    streaming(plan.transformDownWithSubqueries(rule))

  /** The plan whose references to common table expressions are streams where these are. */
  private def streaming(plan: LogicalPlan): LogicalPlan = {
    val streams = plan.collectWithSubqueries { case WithCTE(_, definitions) => definitions }
      .flatten.filter(_.isStreaming).map(_.id).toSet
    val marked = plan.transformDownWithSubqueries {
      case ref: CTERelationRef if streams(ref.cteId) && !ref.isStreaming => ref.copy(isStreaming = true)
    }
    if (marked.fastEquals(plan)) plan else streaming(marked) // one may read another
  }
}
