package org.apache.spark.sql.joinless

import scala.util.Try

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelationWithTable}

/** A batch read of a Delta table in an analyzed query.
  *
  * Delta is no dependency of the plugin, so its classes are known by their names; checked on 4.3.1.
  *
  * @param name of the table in SQL, or ``delta.`path` ``
  * @param pinned a version or a time of the table is named, so its rows are always the same
  */
final case class TableLeaf(name: String, pinned: Boolean)

object TableLeaf {
  private val Delta = "org.apache.spark.sql.delta."

  def unapply(plan: LogicalPlan): Option[TableLeaf] = plan match {
    case relation @ LogicalRelationWithTable(files: HadoopFsRelation, table)
        if !relation.isStreaming && files.location.getClass.getName.startsWith(Delta) =>
      val name = table.map(_.identifier.nameParts.map(quoteIfNeeded).mkString("."))
      val path = files.location.rootPaths.headOption.map(path => s"delta.`${path.toString.replace("`", "``")}`")
      name.orElse(path).map(TableLeaf(_, isPinned(files)))
    case _ => None
  }

  /** What Delta's index of files says; where it says nothing, the read is left as it is. */
  private def isPinned(files: HadoopFsRelation): Boolean =
    Try(files.location.getClass.getMethod("isTimeTravelQuery").invoke(files.location)) != Try(false)
}
