package io.joinless.spark.tables

import scala.util.Try

import org.apache.spark.sql.joinless.CheckpointLogs
import org.json4s.{JInt, JString}
import org.json4s.jackson.JsonMethods.parse

/** The versions of tables that a query has read when a batch ends, as the offsets of its checkpoint
  * record them: those of Delta tables by the tables' ids, and those of static tables.
  *
  * An offset names a version and a position in it. A negative position stands before the version.
  * Delta reads a commit of a change data feed as a whole, so another position stands behind it.
  * Only the rows that a table has when a query begins are read in parts (`isStartingVersion`).
  *
  * @param offsets of sources that are not static tables, in the order of the query; None for one of
  *   which nothing was read
  * @param static of the static tables
  */
final private[spark] case class VersionsRead(
    offsets: Seq[Option[VersionRead]],
    static: StaticVersions = StaticVersions(Nil)
) {

  /** Whether there is a source of which nothing was read. */
  def someEmpty: Boolean = offsets.contains(None)

  /** What each source of this table has read. */
  def of(table: String): Seq[VersionRead] = offsets.flatten.filter(_.table == table).distinct
}

/** @param table the id of a Delta table
  * @param version the last one of which all was read
  * @param begins whether only a part of the table's first rows was read
  */
final private[spark] case class VersionRead(table: String, version: Long, begins: Boolean)

private[spark] object VersionsRead {

  /** What is read when a batch ends; None if its offsets are not there any more. */
  def apply(logs: CheckpointLogs, batch: Long): Option[VersionsRead] =
    logs.offsets(batch).map { offsets =>
      val (static, others) = offsets.partitionMap(json => json.flatMap(StaticVersions.read).toLeft(json))
      VersionsRead(others.map(_.flatMap(of)), StaticVersions(static.flatMap(_.of)))
    }

  /** The offset of a source; None if it is no Delta table. */
  def of(json: String): Option[VersionRead] = Try(parse(json)).toOption.flatMap { offset =>
    (offset \ "reservoirId", offset \ "reservoirVersion", offset \ "index") match {
      case (JString(table), JInt(version), JInt(index)) =>
        val begins = (offset \ "isStartingVersion") == org.json4s.JBool(true)
        Some(VersionRead(table, if (index < 0) version.toLong - 1 else version.toLong, begins))
      case _ => None
    }
  }
}
