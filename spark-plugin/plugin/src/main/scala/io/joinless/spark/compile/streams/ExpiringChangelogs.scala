package io.joinless.spark.compile.streams

import io.joinless.spark.compile.template.{CurrentTime, DeltaScope}
import io.joinless.spark.plans.marks.Changelog
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.blocks.Names
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical._

/** Changelogs whose rows expire: the mark of `expire` stands above that of `changelog`, with at
  * most projections, conditions and watermarks between them. One mark replaces both, and the
  * operators between them then process changes. So they must treat a delete as they treated its
  * insert.
  */
private[compile] object ExpiringChangelogs {

  /** The stream with one mark; unchanged where it has one or none. */
  def merged(stream: LogicalPlan): Either[Reason, LogicalPlan] = stream match {
    case changelog: Changelog if changelog.expiry.isDefined && marked(changelog.child) =>
      weighted(changelog.child).map { changes =>
        val weight = changes.output.last
        changelog.copy(child = changes, weight = weight, hidden = Seq(weight))
      }
    case EventTimeWatermark(_, column, _, child) if marked(child) =>
      Left(Reason.of(Reason.WatermarkOnChangelog, "column" -> column.name))
    case other => Right(other)
  }

  /** Whether a changelog of the user's is in the plan. */
  private def marked(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[Changelog])

  /** The changes of a plan above a changelog, their weight as the last column. Refused are other
    * operators between, and a changelog whose own rows expire.
    */
  private def weighted(plan: LogicalPlan): Either[Reason, LogicalPlan] = plan match {
    case Changelog(changes, weight, _, None, _) =>
      Right(Project(plan.output :+ Alias(weight, DeltaForm.Weight.column)(), changes))
    case Project(list, child) =>
      weightedBelow(plan, child).map(changes => Project(list :+ changes.output.last, changes))
    case unary @ (_: Filter | _: EventTimeWatermark | _: SubqueryAlias | _: View) =>
      weightedBelow(unary, unary.children.head).map(changes => unary.withNewChildren(Seq(changes)))
    case other => Left(Reason.of(Reason.UnsupportedOperator, "operator" -> Names.called(other)))
  }

  /** The changes of the child of `plan`, or why an expression of `plan` cannot treat a delete as
    * its insert.
    */
  private def weightedBelow(plan: LogicalPlan, child: LogicalPlan): Either[Reason, LogicalPlan] =
    DeltaScope.changing(plan.expressions.map(CurrentTime.deferred)).toLeft(child).flatMap(weighted)
}
