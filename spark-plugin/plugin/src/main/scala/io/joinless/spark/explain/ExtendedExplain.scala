package io.joinless.spark.explain

import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.reasons.Reason
import org.apache.spark.sql.{ExtendedExplainGenerator, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.joinless.RunningBatch

/** The explanation of what Joinless made of a plan, printed by `query.explain()` under "Extended
  * Information" if `spark.sql.extendedExplainProviders` names this class: the blocks that run
  * join-free, and each join left to Spark with its reason.
  *
  * It is also the part of Joinless that runs where its extension does not. Spark makes an object of
  * this class in each batch, and stops the query if it cannot. So a missing jar stops the query,
  * and so does `spark.joinless.mode=force` without the extension.
  */
class ExtendedExplain extends ExtendedExplainGenerator {

  ExtendedExplain.checkForced()

  override def title: String = "Joinless"

  override def generateExtendedInfo(plan: SparkPlan): String = {
    val logical = plan.collect { case p => p.logicalLink }.flatten
    ExtendedExplain.lines(logical).map(_ + "\n").mkString
  }
}

object ExtendedExplain {

  /** Throws in a session without the extension, if a batch of a streaming query is planned with
    * mode `force`.
    */
  private def checkForced(): Unit =
    SparkSession.getActiveSession.filter(RunningBatch.of(_).isDefined).foreach(Inspection.checkForced)

  /** A line for each block, group and reason of a plan's nodes. */
  private def lines(plans: Seq[LogicalPlan]): Seq[String] = {
    val blocks = plans.collect { case join: JoinFreeJoin => join.shape }.distinctBy(_.id)
    val rewritten = blocks.map { shape =>
      val relations = shape.relations.map(_.name).mkString(", ")
      shape.reduction match {
        case Some(reduction) =>
          val facts = ReducedFacts(shape, reduction)
          val per = if (facts.projected.isEmpty) "in all" else facts.projected.mkString("per ", ", ", "")
          s"Join-free counts: $relations ($per, height ${facts.height}, class ${facts.queryClass.name})"
        case None =>
          val facts = ViewTreeFacts(shape)
          val forgets = facts.neededUntil.map(_._1)
          val how = if (shape.expires) "rows expire" else "forgets rows"
          val forgetting = if (forgets.isEmpty) "" else s", $how of ${forgets.mkString(", ")}"
          s"Join-free: $relations (${facts.form}, class ${facts.classes}$forgetting)"
      }
    }
    val groups = plans.collect { case groups: Groups => groups }.distinctBy(_.shape).map(GroupsText.heading)
    rewritten ++ groups ++ reasons(plans).map(text)
  }

  /** The reasons at these nodes themselves, and the notes on those that are rewritten, each once.
    */
  def reasons(plans: Seq[LogicalPlan]): Seq[Reason] =
    plans.flatMap {
      case join: JoinFreeJoin => join.notes
      case other => Reason.at(other)
    }.distinct

  /** A reason as a line: what it concerns, its code, its sentence and advice. */
  def text(reason: Reason): String =
    s"${heading(reason.code)}: [${reason.code.name}] ${reason.sentence}${if (reason.advice.isEmpty) ""
      else " " + reason.advice}"

  /** The beginning of a reason's line. */
  private def heading(code: Reason.Code): String = code match {
    case Reason.ChangesNotRequested => "As it stands"
    case Reason.LateResults => "Warning"
    case _ => "Left to Spark"
  }
}
