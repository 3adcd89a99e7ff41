package io.joinless.spark.compile.streams

import io.joinless.spark.changes.Aliases
import io.joinless.spark.compile.template.DeltaScope
import io.joinless.spark.plans.marks.{Changelog, MaskedStream, ReadOnce, SampleOf}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.Conditions
import io.joinless.spark.tables.StaticVersions
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, LateralSubquery, OuterReference, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{
  Filter,
  Join,
  LogicalPlan,
  Project,
  Sample,
  SubqueryAlias,
  Union,
  View
}
import org.apache.spark.sql.joinless.StaticSource

/** Static tables beside a changelog: a delete must find there what its insert found. So they are
  * read once, in the first batch, as a stream whose rows are only inserted. The operators above
  * store them like the rows of other streams.
  *
  * A part of a query that reads no stream is read as a whole, except for joins: their sides are
  * read apart, since a block need not store their results. Delta tables are not read so, since
  * their changes can be read, and a query that ignores them would be wrong in silence; nor are
  * parts whose rows depend on chance or on the current time.
  *
  * @param asInSpark rows meet static tables where they meet them in Spark, whatever they are
  */
final private[compile] class StaticRows(session: SparkSession, asInSpark: Boolean) {
  import StaticRows._

  /** Compiles a query. Static tables are read where Spark reads them; if that is wrong, since rows
    * may be deleted beside them, they are read once.
    */
  def compiled(query: LogicalPlan)(compile: LogicalPlan => Either[Reason, LogicalPlan]): Either[Reason, LogicalPlan] = {
    lazy val asRead = compile(query)
    def mayBeDeleted = ReadOnce.isIn(query) || asRead.left.exists(r => isReason(r) || hasDeletes(query))
    (if (!asInSpark && mayBeDeleted) streamed(query) else None).fold(asRead)(compile)
  }

  /** The query in which static tables are streams; None if there are none to read. */
  private def streamed(query: LogicalPlan): Option[LogicalPlan] = {
    val plain = MaskedStream.removed(query)
    val all = replaced(ReadOnce.removed(plain))
    Option.when(!all.fastEquals(plain))(all)
  }

  private def replaced(plan: LogicalPlan): LogicalPlan =
    if (isRead(plan)) scan(plan, None)
    else {
      val inputs = plan.mapChildren(replaced)
      if (inputs.subqueries.isEmpty) inputs
      else inputs.transformExpressions {
        case lateral: LateralSubquery => lateral.withNewPlan(replaced(lateral.plan))
        case subquery: SubqueryExpression => subquery.withNewPlan(replaced(subquery.plan))
      }
    }

  /** The plan as a stream, under its aliases.
    *
    * @param alias the outermost one
    */
  private def scan(plan: LogicalPlan, alias: Option[String]): LogicalPlan = plan match {
    case Aliases(name, child) => plan.withNewChildren(Seq(scan(child, alias.orElse(name))))
    case _ =>
      val leaves = plan.collectLeaves()
      val places = leaves.flatMap(StaticVersions.place)
      val name = alias.getOrElse(StaticVersions.name(leaves.head))
      val source = new StaticSource(
        session,
        name,
        places,
        plan,
        () => StaticVersions.ofSource(session, plan, name).json,
        StaticVersions.check(session, plan, name)
      )
      StaticSource.scan(session, source)
  }
}

private object StaticRows {
  private val Codes = Set(Reason.StaticSideOfChangelog, Reason.StaticPartOfUnion)

  /** Whether a query is refused because a static table meets rows that may be deleted. */
  private def isReason(reason: Reason): Boolean = Codes(reason.code)

  /** Whether the query reads rows that may be deleted. */
  private def hasDeletes(query: LogicalPlan): Boolean = query.collectFirstWithSubqueries {
    case mark @ (_: Changelog | _: SampleOf) => mark
  }.isDefined

  /** Whether the plan is read as a whole. */
  private def isRead(plan: LogicalPlan): Boolean =
    !isJoin(plan) && !LiteralRows.isLiteral(plan) && isFixed(plan) && plan.output.nonEmpty

  /** Whether its results are those of a join. */
  private def isJoin(plan: LogicalPlan): Boolean = plan match {
    case _: Join => true
    case _: Project | _: Filter | _: Union | _: SubqueryAlias | _: View => plan.children.exists(isJoin)
    case _ => false
  }

  /** Whether all that it reads is static, and each evaluation has the same rows. */
  private def isFixed(plan: LogicalPlan): Boolean = {
    val varies = plan.collectFirstWithSubqueries {
      case node if node.isStreaming || StaticVersions.hasChanges(node) || node.isInstanceOf[Sample] => node
      case node if node.expressions.exists(e => DeltaScope.random(Seq(e)).isDefined || e.exists(ofOutside)) => node
    }
    varies.isEmpty
  }

  /** Whether an expression is of the current time or of a row outside of the plan. */
  private def ofOutside(e: Expression): Boolean =
    Conditions.isTime(e) || e.isInstanceOf[OuterReference]
}
