package io.joinless.spark.start

import io.joinless.spark.changes.SourceNames
import io.joinless.spark.checkpoint.{RunState, StreamContext}
import io.joinless.spark.compile.{DeltaCompilation, DeltaCompiler}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.MaskedStream
import io.joinless.spark.plans.reasons.Reason
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.streaming.OutputMode

/** When a query starts, compiles once the parts that request changes of a result
  * ([[DeltaCompiler]]), and the outer joins of a plain query.
  *
  * A hint-resolution rule: it sees the write to a stream before Spark checks which operators can
  * stream, at every start and restart. A plan that cannot be compiled is an error here; so is a
  * changelog outside of `incrementalEnumerate`, since plain rows cannot express its deletes.
  */
final class CompileDeltas(session: SparkSession) extends Rule[LogicalPlan] {

  /** Compiles a query that starts; any other plan stays. */
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: WriteToStreamStatement if DeltaCompiler.hasMarks(write.inputQuery) =>
      if (write.outputMode == OutputMode.Complete)
        throw DeltaCompilation.refused(Reason.of(Reason.UnsupportedOutputMode, "mode" -> "complete"))
      lazy val begun = run(write) match {
        case decided: RunState.Decided if decided.blocks.nonEmpty || decided.groups.nonEmpty => Some(decided.query)
        case _ => None
      }
      AnalysisHelper.allowInvokingTransformsInAnalyzer {
        val compiled = DeltaCompilation(session, write.inputQuery, begun)
        CompileDeltas.refuseMasked(compiled)
        write.withNewChildren(Seq(compiled))
      }
    case write: WriteToStreamStatement =>
      CompileDeltas.refuseMasked(write.inputQuery)
      if (write.outputMode != OutputMode.Append) plan
      else AnalysisHelper.allowInvokingTransformsInAnalyzer {
        val compiled = DeltaCompilation.plain(session, write.inputQuery, run(write))
        if (compiled eq write.inputQuery) plan else write.withNewChildren(Seq(compiled))
      }
    case _ => plan
  }

  /** The state of the query's checkpoint, which the run continues. Spark has not resolved the
    * folder yet.
    */
  private def run(write: WriteToStreamStatement): RunState = {

    /** The folder of a query with a name. */
    def ofName = for (folder <- write.conf.checkpointLocation; name <- write.userSpecifiedName)
      yield new Path(folder, name).toString
    write.userSpecifiedCheckpointLocation.orElse(ofName).fold[RunState](RunState.Fresh)(StreamContext.stateAt(
      session,
      _
    ))
  }
}

private[spark] object CompileDeltas {

  /** Refuses a plan in which a subquery reads a stream: this is allowed only in queries whose
    * changes are requested.
    */
  def refuseMasked(plan: LogicalPlan): Unit =
    MaskedStream.in(plan).foreach(stream => throw JoinlessErrors.streamInSubquery(SourceNames.of(stream)))
}
