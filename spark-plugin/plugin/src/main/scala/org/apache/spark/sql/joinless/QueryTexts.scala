package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, Command, LogicalPlan, ParsedStatement, WithCTE}
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.{DataFrame, SparkSession, classic}

/** Queries given as text. Spark's parser and analyzer belong to the session's state, which is
  * private to Spark.
  */
object QueryTexts {

  /** The analyzed plan of a query; None if the text is another statement. Nothing is executed.
    *
    * @param named relations that the text calls by these names, whatever else is called so
    * @param database a SQL name: names without a database belong to it; by default to the current
    *   one
    */
  def analyzed(
      session: SparkSession,
      text: String,
      named: Map[String, DataFrame],
      database: Option[String] = None
  ): Option[LogicalPlan] = {
    // temporary views and the current database of another session with the same catalog and settings
    val own = if (named.isEmpty && database.isEmpty) classicOf(session) else classicOf(session).cloneSession()
    own.withActive {
      database.foreach(name => own.sql(s"USE $name"))
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

  /** The current database of a session, as a SQL name with its catalog. */
  def database(session: SparkSession): String = {
    val manager = classicOf(session).sessionState.catalogManager
    (manager.currentCatalog.name +: manager.currentNamespace).map(quoteIfNeeded).mkString(".")
  }
}
