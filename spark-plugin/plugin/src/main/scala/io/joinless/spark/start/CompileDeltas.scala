package io.joinless.spark.start

import io.joinless.spark.compile.{CompiledDeltas, DeltaCompiler}
import io.joinless.spark.plans.Reason
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.streaming.OutputMode

/** Compiles what asks for changes of a result when a query starts, once ([[DeltaCompiler]]).
  *
  * A hint-resolution rule: it sees the write to a stream before Spark checks which operators can stream, at every start and
  * restart. What cannot be compiled is an error here; so is a changelog whose deletes nobody would understand.
  */
final class CompileDeltas(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: WriteToStreamStatement if DeltaCompiler.concerns(write.inputQuery) =>
      if (write.outputMode == OutputMode.Complete)
        throw CompiledDeltas.refused(Reason.of(Reason.UnsupportedOutputMode, "mode" -> "complete"))
      AnalysisHelper.allowInvokingTransformsInAnalyzer {
        write.withNewChildren(Seq(CompiledDeltas(session, write.inputQuery)))
      }
    case _ => plan
  }
}
