package org.apache.spark.sql.joinless

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelationWithTable}

/** What the log of a Delta table says of its newest version. `DESCRIBE DETAIL` says the same, but
  * it counts the table's files, for which Delta reads them from the log after each commit.
  *
  * Delta is no dependency of the plugin, so its classes are known by their names; checked on 4.4.0.
  *
  * @param name None of a table that is given by its path
  * @param id which a table keeps for life
  * @param files their number, where it is known without reading the log
  */
final case class DeltaDetail(
    name: Option[String],
    id: String,
    location: String,
    properties: Map[String, String],
    partitionColumns: Seq[String],
    files: Option[Long]
)

object DeltaDetail {

  /** None if the name is that of no Delta table, or if this Delta's classes are other ones.
    *
    * @param name in SQL, or ``delta.`path` ``
    */
  def apply(session: SparkSession, name: String): Option[DeltaDetail] =
    Try(EliminateSubqueryAliases(Plans.analyzed(session.table(name)))).toOption.flatMap(of)

  /** The same for a read of the table, as of the version that it reads. */
  def of(plan: LogicalPlan): Option[DeltaDetail] = plan match {
    case relation @ LogicalRelationWithTable(files: HadoopFsRelation, table) if TableLeaf.unapply(relation).isDefined =>
      Try {
        val snapshot = answer[AnyRef](files.location, "snapshotAtAnalysis")
        val metadata = answer[AnyRef](snapshot, "metadata")
        DeltaDetail(
          table.map(_.identifier.unquotedString),
          answer[String](metadata, "id"),
          answer[Path](snapshot, "dataPath").toString,
          answer[Map[String, String]](metadata, "configuration"),
          answer[Seq[String]](metadata, "partitionColumns"),
          answer[Option[Long]](snapshot, "numOfFilesIfKnown")
        )
      }.toOption
    case _ => None
  }

  private def answer[A](of: AnyRef, method: String): A = of.getClass.getMethod(method).invoke(of).asInstanceOf[A]
}
