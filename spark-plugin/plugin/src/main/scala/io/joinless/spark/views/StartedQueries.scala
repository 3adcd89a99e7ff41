package io.joinless.spark.views

import scala.collection.concurrent.TrieMap

import io.joinless.spark.errors.ViewErrors
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.streaming.StreamingQuery

/** The queries of views that this process has started, by the folders of the views' tables. Spark
  * forgets a query that has ended, and the error that stopped it.
  */
object StartedQueries {
  private val queries = TrieMap.empty[String, StreamingQuery]

  /** Notes the query that keeps the table in this folder. */
  def add(location: String, query: StreamingQuery): Unit = queries.update(key(location), query)

  /** The last query that was started for the table in this folder. */
  def last(location: String): Option[StreamingQuery] = queries.get(key(location))

  /** Refuses to start a view that is running.
    *
    * @param view its table, in errors
    */
  def checkNotRunning(view: String, location: String): Unit =
    last(location).filter(_.isActive).foreach { query =>
      throw ViewErrors.running(view, Option(query.name).getOrElse(view), query.id.toString)
    }

  /** Stops the query of this id, if it runs in this application. */
  def stop(id: Option[String]): Unit = Plans.active.filter(query => id.contains(query.id.toString)).foreach(_.stop())

  /** Forgets the table in this folder. */
  def forget(location: String): Unit = { val _ = queries.remove(key(location)) }

  private def key(location: String): String = location.stripSuffix("/")
}
