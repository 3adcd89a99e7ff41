package io.joinless.spark.inspect

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.streaming.StreamingQuery

/** The running queries of this application, by what users call them. */
object ActiveQueries {

  /** The active query of that name or id, of any session. */
  def find(nameOrId: String): StreamingQuery = Plans.active.filter(q => q.name == nameOrId) match {
    case Seq(query) => query
    case Seq() => Plans.active.find(_.id.toString == nameOrId).getOrElse {
        throw JoinlessErrors.queryNotActive(nameOrId, Plans.active.map(q => Option(q.name).getOrElse(q.id.toString)))
      }
    case several => throw JoinlessErrors.queryAmbiguous(nameOrId, several.map(_.id.toString))
  }
}
