package io.joinless.spark.views

import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.tables.ViewFolders
import io.joinless.spark.writer.Target
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.CheckpointFiles

/** Removes a view: stops its query if that runs in this application, drops its table, and deletes
  * its checkpoint. Files of a table with a LOCATION of its own stay, as in SQL.
  */
private[spark] object DropView {

  def apply(session: SparkSession, name: String): Unit = Inspection.within(session) {
    val (view, target) = (KeptView(session, name), Target(name))
    if (target.detail(session).name.isEmpty) throw ViewErrors.dropOfPath(name, view.location)
    val writer = target.writer(session)
    StartedQueries.stop(writer)
    val _ = session.sql(s"DROP TABLE $name")
    val checkpoint = new Path(view.checkpoint)
    new CheckpointFiles(session, checkpoint).delete(checkpoint)
    ViewFolders.keep(session, view.location, Set.empty)
    StartedQueries.forget(view.location)
  }
}
