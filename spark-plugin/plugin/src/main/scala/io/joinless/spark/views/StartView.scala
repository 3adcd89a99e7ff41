package io.joinless.spark.views

import scala.util.Try
import scala.util.control.NonFatal

import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.tables.QueryOverTables
import io.joinless.spark.writer.Target
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.joinless.{CheckpointFolder, DeltaDetail, Plans, StreamLeaf}
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{DataFrame, SparkSession}

/** Starts a view: a query whose changes are applied to a Delta table, which says of which query it
  * is the result. The table is created if it is not there.
  */
private[spark] object StartView {

  /** @param into the table
    * @param checkpoint the folder of the checkpoint; None for the one that the table names
    * @param name of the query; by default the table
    */
  def apply(view: WantedView, into: String, checkpoint: Option[String], name: Option[String]): StreamingQuery =
    Inspection.within(view.session) {
      val (session, target) = (view.session, Target(into))
      val first = target.found(session)
      val there = Replacement.begun(session, target, first) match {
        case Some(begun) => begun.finish(); target.found(session)
        case None => first
      }
      val before = there.flatMap(detail => ViewRecord.of(detail.properties))
      val other = before.flatMap(_.query).exists(text => view.record.query.exists(_ != text))
      there.foreach(detail => StartedQueries.checkNotRunning(into, detail.location, other))
      val record = recorded(view, into, before).copy(checkpoint = checkpoint.orElse(before.flatMap(_.checkpoint)))
      val location = there.fold(create(view, target, record)) { detail =>
        check(view, target, record, before, detail)
        detail.location
      }
      // while the view runs, its start is refused, and a change of the table could stop its batch
      val called = name.getOrElse(into)
      val runs = session.streams.active.exists(_.name == called)
      val changed = there.isDefined && !before.contains(record) && !runs
      if (changed) exchange(session, target, before, record)
      val writer = view.into(target).trigger(view.trigger).queryName(called)
      val query =
        try writer.option("checkpointLocation", record.folder(location)).start()
        catch {
          case NonFatal(raised) =>
            // the checkpoint is still that of the view before
            if (changed) before.foreach(exchange(session, target, Some(record), _))
            throw raised
        }
      StartedQueries.add(location, query, into)
      query
    }

  /** What the table is to say of the view. Names in its text stay those of the database in which it
    * was made. Fails where the same text reads other tables now: it is another query.
    */
  private def recorded(view: WantedView, into: String, before: Option[ViewRecord]): ViewRecord = {
    val record = view.record
    val old = before.filter(old => old.query.isDefined && old.query == record.query && old.frames.isEmpty)
    old.flatMap(_.database).filterNot(record.database.contains).fold(record) { database =>
      def places(query: DataFrame) = StreamLeaf.places(Plans.analyzed(query)).toSet
      val known = Try(record.query.map(QueryOverTables.query(view.session, _, Map.empty, Some(database))).map(places))
      if (!known.toOption.flatten.contains(places(view.deltas)))
        throw ViewErrors.otherDatabase(into, database, record.database.mkString)
      record.copy(database = Some(database))
    }
  }

  /** Names another view in the properties of the table. */
  private def exchange(session: SparkSession, target: Target, old: Option[ViewRecord], view: ViewRecord): Unit =
    target.exchange(session, old.toSeq.flatMap(_.properties.keys), view.properties)

  /** Fails if the changes cannot be applied to the table. It must be empty if the checkpoint is
    * new. The commit of batch 0 checks that again.
    *
    * @param before what the table says of the view that it had
    */
  private def check(
      view: WantedView,
      target: Target,
      record: ViewRecord,
      before: Option[ViewRecord],
      there: DeltaDetail
  ): Unit = {
    val session = view.session
    val _ = target.keyOf(session, view.givenKey, Target.ofChanges(view.deltas).map(_.name))
    target.checkNotRead(view.deltas, there)
    val _ = target.columns(view.deltas)
    // the table may already contain a batch that was begun: it runs again, and Delta skips it
    val folder = record.folder(there.location)
    if (new CheckpointFolder(session, new Path(folder)).begun.isEmpty && !target.isEmpty(session)) {
      val isGone = before.exists(old => old.folder(there.location) == folder && old.query == record.query)
      throw (if (isGone) ViewErrors.noCheckpoint(target.name, folder) else target.error("TARGET_NOT_EMPTY"))
    }
  }

  /** Creates the table with the columns of the changes. Returns its folder. */
  private def create(view: WantedView, target: Target, record: ViewRecord): String = {
    record.checkpoint.filter(folder => new CheckpointFolder(view.session, new Path(folder)).committed.isDefined)
      .foreach(folder => throw target.error("TARGET_GONE", "checkpoint" -> folder))
    ViewTable.create(target, view.deltas, view.givenKey, record)
  }
}
