package io.joinless.spark.strategy

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.explain.ExtendedExplain
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.joinless.Inspection

/** Under `spark.joinless.mode=force`, raises the reason of a join that would stay with Spark when a query is started, as
  * far as it is known without its checkpoint. What only the checkpoint tells is raised by the first batch.
  *
  * A check rule of the analyzer: sees the plan of every write to a stream, once, at `start()`.
  */
final class StartCheck(session: SparkSession) extends (LogicalPlan => Unit) {

  override def apply(plan: LogicalPlan): Unit = plan match {
    case write: WriteToStream if forced =>
      val optimized = Inspection.optimized(session, write.inputQuery)
      ExtendedExplain.reasons(optimized.collect { case node => node }).headOption.foreach { reason =>
        throw JoinlessErrors.notRewritten(reason.code.name, reason.sentence, reason.advice)
      }
    case _ =>
  }

  private def forced: Boolean = {
    val conf = Inspection.conf(session)
    conf.enabled && conf.forced
  }
}
