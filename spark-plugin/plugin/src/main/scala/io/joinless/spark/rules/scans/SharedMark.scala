package io.joinless.spark.rules.scans

import io.joinless.spark.plans.values.InPlaceOf
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.MetadataBuilder

/** The mark of columns under which a scan reads a shared source; nothing above refers to it. */
object SharedMark {
  final private val Mark = "joinless.shared"

  /** The columns of a shared source under the attributes of a scan of it. */
  def renamed(source: LogicalPlan, as: Seq[Attribute]): LogicalPlan =
    Project(
      source.output.zip(as).map { case (from, to) =>
        val marked = new MetadataBuilder().withMetadata(to.metadata).putBoolean(Mark, value = true).build()
        InPlaceOf(to, from, marked)
      },
      source
    )

  /** Whether the plan is a scan of a shared source. */
  def isOn(plan: LogicalPlan): Boolean = plan match {
    case Project(list, _) => list.exists(c => c.isInstanceOf[Alias] && c.metadata.contains(Mark))
    case _ => false
  }

  /** A column without the mark. */
  def unmarked(alias: Alias): Alias =
    if (alias.explicitMetadata.exists(_.contains(Mark))) {
      val plain = new MetadataBuilder().withMetadata(alias.metadata).remove(Mark).build()
      alias.copy()(alias.exprId, alias.qualifier, Some(plain), alias.nonInheritableMetadataKeys)
    } else alias
}
