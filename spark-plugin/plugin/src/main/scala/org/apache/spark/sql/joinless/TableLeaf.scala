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
  * @param version of the table if the query names one, or a time: then its rows are always the same
  */
final case class TableLeaf(name: String, version: Option[String]) {

  def pinned: Boolean = version.isDefined
}

object TableLeaf {
  private val Delta = "org.apache.spark.sql.delta."

  def unapply(plan: LogicalPlan): Option[TableLeaf] = plan match {
    case relation @ LogicalRelationWithTable(files: HadoopFsRelation, table)
        if !relation.isStreaming && files.location.getClass.getName.startsWith(Delta) =>
      val name = table.map(_.identifier.nameParts.map(quoteIfNeeded).mkString("."))
      val path = files.location.rootPaths.headOption.map(path => s"delta.`${path.toString.replace("`", "``")}`")
      name.orElse(path).map(TableLeaf(_, pinned(files.location)))
    case _ => None
  }

  /** The version that the query names. Where Delta's index of files does not say whether it names
    * one, the read is left as it is.
    */
  private def pinned(files: AnyRef): Option[String] = {
    def answer(method: String) = Try(files.getClass.getMethod(method).invoke(files))
    Option.when(answer("isTimeTravelQuery") != Try(false))(answer("version").map(_.toString).getOrElse("?"))
  }
}
