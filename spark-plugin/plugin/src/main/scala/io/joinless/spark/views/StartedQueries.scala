package io.joinless.spark.views

import scala.collection.concurrent.TrieMap

import io.joinless.spark.errors.ViewErrors
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.streaming.StreamingQuery

/** The queries of views that this process has started, by the folders of the views' tables. Spark
  * forgets a query that has ended, and the error that stopped it.
  */
object StartedQueries {
  private val queries = TrieMap.empty[String, (StreamingQuery, String)]

  /** Notes the query that keeps the table in this folder.
    *
    * @param view the table, as it was named
    */
  def add(location: String, query: StreamingQuery, view: String): Unit = queries.update(key(location), (query, view))

  /** The last query that was started for the table in this folder. */
  def last(location: String): Option[StreamingQuery] = queries.get(key(location)).map(_._1)

  /** The view that a query keeps, if it is the last one of its table. */
  def view(query: StreamingQuery): Option[String] =
    queries.valuesIterator.collectFirst { case (known, view) if known.runId == query.runId => view }

  /** Refuses to start a view that is running.
    *
    * @param view its table, in errors
    * @param other the query that is to be started is another one
    */
  def checkNotRunning(view: String, location: String, other: Boolean = false): Unit =
    last(location).filter(_.isActive).foreach { query =>
      val name = Option(query.name).getOrElse(view)
      throw (if (other) ViewErrors.runningOther(view, name) else ViewErrors.running(view, name, query.id.toString))
    }

  /** Stops the query of this id, if it runs in this application. */
  def stop(id: Option[String]): Unit = Plans.active.filter(query => id.contains(query.id.toString)).foreach(_.stop())

  /** Forgets the table in this folder. */
  def forget(location: String): Unit = { val _ = queries.remove(key(location)) }

  private def key(location: String): String = location.stripSuffix("/")
}
