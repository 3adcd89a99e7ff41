package io.joinless.spark.views

import io.joinless.spark.evolve.Evolution
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.writer.Target
import org.apache.spark.sql.joinless.{CheckpointLogs, Plans, StreamLeaf}
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException}

/** Gives a view another query, or another number of cells. */
private[spark] object ReplaceView {

  /** The running query, when the table has its rows.
    *
    * @param cells the number of parts into which the state is divided; None to choose
    * @param name of the query; by default the table
    */
  def apply(wanted: WantedView, view: String, cells: Option[Int], name: Option[String]): StreamingQuery =
    Inspection.within(wanted.session) {
      val session = wanted.session
      val (target, present) = looked(wanted, view)
      // its rows are in folders that the next one removes
      Replacement.begun(session, target, Some(target.detail(session))).foreach(_.finish())
      val called = s"${name.getOrElse(view)} (replacement)"
      def filled(old: Option[String]): Replacement = {
        val next = Replacement(session, target, present.location, present.record)
        old.foreach(next.beginWith)
        next.fill(wanted, called, cells)
        next
      }
      val old = storedBy(wanted, present, cells)
      val next =
        try filled(old)
        catch {
          case raised: StreamingQueryException if old.isDefined && Failure.isOfTables(raised) => filled(None)
        }
      next.switch(wanted.record.copy(checkpoint = Some(next.name)), present.record)
      StartView(wanted, view, None, name)
    }

  /** From what the new query of a view would begin.
    *
    * @param batch of the old query, whose stored rows are taken; None if there is none
    * @param stored the tables and streams that begin with stored rows
    * @param again those that are read from their beginning, each with the reason, as a clause
    */
  final case class Plan(batch: Option[Long], stored: Seq[String], again: Seq[(String, String)])

  object Plan {

    /** That of a query which takes over. */
    def of(evolution: Evolution): Plan = Plan(Some(evolution.batch), evolution.stored, evolution.again)
  }

  /** The plan of a replacement. Nothing is changed. */
  def plan(wanted: WantedView, view: String, cells: Option[Int]): Plan = Inspection.within(wanted.session) {
    val present = looked(wanted, view)._2
    storedBy(wanted, present, cells).map(Evolution(wanted.deltas, _)) match {
      case Some(found) => Plan.of(found)
      case None =>
        val why =
          if (isAnew(wanted, present, cells)) "the view begins anew" else "the view has not completed a batch"
        Plan(None, Nil, StreamLeaf.places(Plans.analyzed(wanted.deltas)).map(_ -> why))
    }
  }

  /** The table and the view in it. Fails if the new query reads the table. */
  private def looked(wanted: WantedView, view: String): (Target, KeptView) = {
    val (target, present) = (Target(view), KeptView(wanted.session, view))
    target.checkNotRead(wanted.deltas, target.detail(wanted.session))
    target -> present
  }

  /** The checkpoint whose stored rows the new query takes. */
  private def storedBy(wanted: WantedView, present: KeptView, cells: Option[Int]): Option[String] =
    Option.unless(isAnew(wanted, present, cells))(present.checkpoint)
      .filter(new CheckpointLogs(wanted.session, _).batches.nonEmpty)

  /** Whether the view keeps its query and its cells: then it reads all tables again. */
  private def isAnew(wanted: WantedView, present: KeptView, cells: Option[Int]): Boolean =
    cells.isEmpty && wanted.record.query.isDefined && wanted.record.query == present.record.query
}
