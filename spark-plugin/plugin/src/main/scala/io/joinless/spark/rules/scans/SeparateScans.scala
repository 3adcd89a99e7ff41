package io.joinless.spark.rules.scans

import scala.collection.mutable

import io.joinless.spark.rules.blocks.OuterScope
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeMap, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}

/** Gives every scan of a batch its own attributes where sources are shared: a shared source inserts
  * the same data in several positions of the plan, with the same expression ids, and rules that
  * read more than one of them use ids as identities.
  */
object SeparateScans {

  /** The plan with fresh attributes where an id was produced before; `eq` where no source is
    * shared.
    */
  def apply(plan: LogicalPlan): LogicalPlan = if (plan.exists(SharedMark.isOn)) everywhere(plan) else plan

  /** The same whoever made the plan; `eq` where every id is produced once. */
  def everywhere(plan: LogicalPlan): LogicalPlan = separated(plan, mutable.HashSet.empty)

  /** The plan from its leaves up: a scan or an alias whose id is among those produced so far gets a
    * new one, and the operators above read it by that.
    *
    * @param seen ids produced so far; added to
    */
  private def separated(plan: LogicalPlan, seen: mutable.HashSet[ExprId]): LogicalPlan =
    rewired(plan, plan.children.map(separated(_, seen))) match {
      case leaf: MultiInstanceRelation if leaf.output.map(a => seen.add(a.exprId)).contains(false) =>
        val fresh = leaf.newInstance()
        seen ++= fresh.output.map(_.exprId)
        fresh
      case project: Project =>
        val list = project.projectList.map {
          case alias: Alias if !seen.add(alias.exprId) => SharedMark.unmarked(alias).newInstance()
          case alias: Alias => SharedMark.unmarked(alias)
          case other => other
        }
        if (list.zip(project.projectList).forall { case (now, before) => now eq before }) project
        else project.copy(projectList = list)
      case other => other
    }

  /** The plan over children whose attributes may have changed, position by position. */
  private def rewired(plan: LogicalPlan, children: Seq[LogicalPlan]): LogicalPlan = {
    val changed = plan.children.zip(children).filter { case (before, after) => before ne after }
    val attributes = AttributeMap(changed.flatMap { case (before, after) =>
      before.output.zip(after.output).filter { case (b, a) => b.exprId != a.exprId }
    })
    if (changed.isEmpty) plan
    else if (attributes.isEmpty) plan.withNewChildren(children)
    else OuterScope.replaceIn(plan.withNewChildren(children))(a => attributes.getOrElse(a, a))
  }
}
