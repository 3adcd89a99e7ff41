package io.joinless.spark.strategy

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.explain.ExtendedExplain
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.joinless.{Inspection, SparkVersion}

/** Refuses confs of ours that do not exist, while Joinless is switched on: they can be set at any time before.
  *
  * Refuses to go on with state of ours on a Spark that lacks what we stand on.
  *
  * Under `spark.joinless.mode=force`, raises the reason of a join that would stay with Spark when a query is started, as
  * far as it is known without its checkpoint. What only the checkpoint tells is raised by the first batch.
  *
  * A post-hoc resolution rule: it sees the plan of every write to a stream at `start()`, and changes none. (A check rule
  * would lose the SQLSTATE: what those throw, Spark rebuilds without it.)
  */
final class StartCheck(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case write: WriteToStream =>
        val conf = Inspection.conf(session)
        conf.checkNames()
        SparkVersion.checkFor(session, write.resolvedCheckpointLocation)
        if (conf.enabled && conf.forced) check(write.inputQuery)
      case _ =>
    }
    plan
  }

  private def check(query: LogicalPlan): Unit =
    ExtendedExplain.reasons(Inspection.optimized(session, query).collect { case node => node }).headOption.foreach {
      reason => throw JoinlessErrors.notRewritten(reason.code.name, reason.sentence, reason.advice)
    }
}
