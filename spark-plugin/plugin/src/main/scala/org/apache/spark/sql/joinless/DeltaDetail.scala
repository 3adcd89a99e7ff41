package org.apache.spark.sql.joinless

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelationWithTable}
import org.apache.spark.sql.{Row, SparkSession}

/** What the log of a Delta table says of its newest version. `DESCRIBE DETAIL` says the same, but
  * it counts the table's files, for which Delta reads them from the log after each commit.
  *
  * Delta is no dependency of the plugin, so its classes are known by their names; checked on 4.4.0.
  *
  * @param name None of a table that is given by its path
  * @param id which a table keeps for life
  * @param files their number, where it is in the file of the version's checksum. Delta's
  *   `numOfFilesIfKnown` would read all files of the version from the log
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

  /** The same, from `DESCRIBE DETAIL` where the log cannot be asked directly; or the format of a
    * table that is not Delta's.
    */
  def described(session: SparkSession, name: String): Either[String, DeltaDetail] =
    apply(session, name).fold(ofStatement(session.sql(s"DESCRIBE DETAIL $name").head()))(Right(_))

  private def ofStatement(row: Row): Either[String, DeltaDetail] = {
    val format = row.getAs[String]("format")
    if (format != "delta") Left(format)
    else
      Right(DeltaDetail(
        Option(row.getAs[String]("name")),
        row.getAs[String]("id"),
        row.getAs[String]("location"),
        row.getAs[scala.collection.Map[String, String]]("properties").toMap,
        row.getAs[scala.collection.Seq[String]]("partitionColumns").toSeq,
        Some(row.getAs[Long]("numFiles"))
      ))
  }

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
          filesIn(snapshot)
        )
      }.toOption
    case _ => None
  }

  /** Reads no log: the snapshot that Delta has loaded last has the checksum of its version. */
  private def filesIn(snapshot: AnyRef): Option[Long] =
    Try {
      val loaded = answer[AnyRef](answer[AnyRef](snapshot, "deltaLog"), "unsafeVolatileSnapshot")
      val same = answer[Long](loaded, "version") == answer[Long](snapshot, "version")
      if (same) answer[Option[AnyRef]](loaded, "checksumOpt").map(answer[Long](_, "numFiles")) else None
    }.toOption.flatten

  private def answer[A](of: AnyRef, method: String): A = of.getClass.getMethod(method).invoke(of).asInstanceOf[A]
}
