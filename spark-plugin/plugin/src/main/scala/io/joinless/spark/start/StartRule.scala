package io.joinless.spark.start

import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream

/** A post-hoc resolution rule that sees the plan of every write to a stream at `start()`, with its
  * checkpoint.
  *
  * It may transform the query, which Spark's analyzer forbids otherwise, and must leave its own
  * output as it is: Spark may apply it again.
  */
abstract class StartRule extends Rule[LogicalPlan] {

  final override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: WriteToStream => AnalysisHelper.allowInvokingTransformsInAnalyzer(started(write))
    case _ => plan
  }

  /** The transformed write; the same object if nothing changes. */
  protected def started(write: WriteToStream): WriteToStream
}
