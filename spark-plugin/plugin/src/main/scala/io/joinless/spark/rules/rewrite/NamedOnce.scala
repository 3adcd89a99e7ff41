package io.joinless.spark.rules.rewrite

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Alias, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}

/** Gives the columns of each projection unique names; ids, by which all operators above read them,
  * stay.
  *
  * Spark removes an alias that has the name of its column (`RemoveRedundantAliases`). Where a
  * projection has one column twice, under its name, both aliases are removed and one id occurs
  * twice. In a part of a union after the first one, Spark refuses such a plan, and a projection
  * over a source is moved there when the source's batch is a union, as those of Delta tables are.
  */
private[spark] object NamedOnce {

  /** The plan; `eq` where all names differ. */
  def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp { case project: Project =>
    project.copy(projectList = renamed(project.projectList))
  }

  /** The list with a number after each alias whose name is there already; other columns keep
    * theirs.
    */
  private def renamed(list: Seq[NamedExpression]): Seq[NamedExpression] = {
    val taken = mutable.HashSet.from(list.collect { case column if !column.isInstanceOf[Alias] => column.name })
    list.map {
      case alias: Alias if !taken.add(alias.name) =>
        val name = Iterator.from(2).map(n => s"${alias.name}_$n").dropWhile(!taken.add(_)).next()
        alias.copy(name = name)(
          alias.exprId,
          alias.qualifier,
          alias.explicitMetadata,
          alias.nonInheritableMetadataKeys
        )
      case other => other
    }
  }
}
