package io.joinless.spark.views

import scala.util.Try

import io.joinless.spark.errors.ViewErrors
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.joinless.DeltaDetail

/** A view: a Delta table that names the query which it is kept equal to.
  *
  * @param name of the table, as statements use it
  * @param location the folder of the table
  */
final case class KeptView(name: String, location: String, record: ViewRecord) {

  /** The folder of its checkpoint. */
  def checkpoint: String = record.folder(location)
}

object KeptView {

  /** The view in a table. Fails with Spark's error if there is no such table. */
  def apply(session: SparkSession, name: String): KeptView = {
    val _ = session.table(name)
    found(session, name).getOrElse(throw ViewErrors.notAView(name))
  }

  /** All views among the tables of the current database. */
  def all(session: SparkSession): Seq[KeptView] = session.sql("SHOW TABLES").collect().toSeq
    .filterNot(_.getAs[Boolean]("isTemporary"))
    .flatMap(row => found(session, quoteIfNeeded(row.getAs[String]("tableName"))))

  private def found(session: SparkSession, name: String): Option[KeptView] = for {
    detail <- Try(DeltaDetail.described(session, name)).toOption.flatMap(_.toOption)
    record <- ViewRecord.of(detail.properties)
  } yield KeptView(name, detail.location, record)
}
