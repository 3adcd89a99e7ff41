package io.joinless.spark.strategy

import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream

/** A post-hoc resolution rule that sees the plan of every write to a stream at `start()`, with its checkpoint.
  *
  * Rules of this kind optimize the query to look at it, inside Spark's analyzer. Spark forbids transformations there (it says so
  * in its test mode only), since they would visit what is resolved again and again: this is the place that allows them.
  * Spark may apply such a rule to its own output.
  */
abstract class StartRule extends Rule[LogicalPlan] {

  final override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: WriteToStream => AnalysisHelper.allowInvokingTransformsInAnalyzer(started(write))
    case _ => plan
  }

  /** What becomes of the write; itself where nothing changes. */
  protected def started(write: WriteToStream): WriteToStream
}
