package io.joinless.spark.views

import scala.util.control.NonFatal

import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.writer.{Target, TargetColumns}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.joinless.SqlTexts

/** The table of a view, where it does not exist yet. */
private[views] object ViewTable {

  /** Errors of Spark or Delta in a session without Delta, or with an incomplete one. */
  private val LacksDelta = """\[(?:DATA_SOURCE_NOT_FOUND|DELTA_CONFIGURE_SPARK_SESSION\w*)\] [^.\n]*""".r

  /** Creates it with the columns of changes, and with the properties of a record. Returns its folder.
    *
    * @param key columns that the changes must have
    */
  def create(target: Target, changes: DataFrame, key: Seq[String], record: ViewRecord): String = {
    val session = changes.sparkSession
    target.checkNew(session, changes.schema, key)
    val columns = TargetColumns.ddl(Target.ofChanges(changes))
    val properties = SqlTexts.properties(record.properties)
    try {
      val _ = session.sql(s"CREATE TABLE IF NOT EXISTS ${target.name} ($columns) USING delta TBLPROPERTIES $properties")
    } catch {
      case ours: JoinlessAnalysisException => throw ours
      case NonFatal(raised) =>
        val found = Option(raised.getMessage).flatMap(LacksDelta.findFirstIn)
        throw found.fold(raised)(text => target.error("NO_DELTA", raised, "found" -> text.trim))
    }
    target.detail(session).location
  }
}
