package io.joinless.spark.tables

import scala.util.control.NonFatal

import io.joinless.spark.changes.Changes
import io.joinless.spark.errors.TableErrors
import org.apache.spark.sql.joinless.DeltaDetail
import org.apache.spark.sql.{DataFrame, SparkSession}

/** A Delta table as it changes: the rows that it has when a query begins, then its change data
  * feed.
  */
private[tables] object TableChanges {
  private val Feed = "delta.enableChangeDataFeed"

  /** A table that is given by its path, as Spark's parser reads it. */
  private val Path = "(?i)`?delta`?\\.`(.*)`".r

  /** The relation of a table. Its feed is switched on, if it is not.
    *
    * @param name in SQL, or ``delta.`path` ``
    */
  def apply(session: SparkSession, name: String): DataFrame = {
    switchOn(session, name)
    val reader = session.readStream.option("readChangeFeed", "true")
    val rows = name match {
      case Path(path) => reader.format("delta").load(path.replace("``", "`"))
      case _ => reader.table(name)
    }
    Changes.changelog(rows, None, None)
  }

  private def switchOn(session: SparkSession, name: String): Unit = {
    if (!isOn(session, name)) {
      val statement = s"ALTER TABLE $name SET TBLPROPERTIES ('$Feed' = 'true')"
      try { val _ = session.sql(statement) }
      catch {
        // another view of the table may have done it meanwhile
        case NonFatal(error) => if (!isOn(session, name)) throw TableErrors.tableFeed(name, statement, error)
      }
    }
  }

  private def isOn(session: SparkSession, name: String): Boolean = {
    val detail =
      DeltaDetail.described(session, name).fold(format => throw TableErrors.tableFormat(name, format), identity)
    detail.properties.get(Feed).exists(_.equalsIgnoreCase("true"))
  }
}
