package io.joinless.spark

import io.joinless.spark.changes.{
  Expire,
  IncrementalEnumerate,
  IncrementalHint,
  MaskStreams,
  NamesAsArguments,
  ResolveDeltaOutput,
  SampleInSql
}
import io.joinless.spark.checkpoint.StreamContext
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.inspect.{Inspection, SqlText}
import io.joinless.spark.planner.JoinFreeStrategy
import io.joinless.spark.rules.rewrite.RewriteStreamingJoins
import io.joinless.spark.source.ThinFiltered
import io.joinless.spark.start.{
  CompileDeltas,
  HideIdleSources,
  LookAtDeltas,
  ShareSources,
  SparkCheck,
  StartCheck,
  WholeBatches
}
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.joinless.SparkMembers

/** The class that a user names in `spark.sql.extensions`. It registers every part of Joinless. */
class JoinlessExtension extends (SparkSessionExtensions => Unit) {

  /** Registers all rules with a session. Called once, when Spark creates it. */
  override def apply(extensions: SparkSessionExtensions): Unit = {
    SparkCheck.version()
    JoinlessConf.register()
    extensions.injectTableFunction(IncrementalEnumerate.description)
    extensions.injectTableFunction(Expire.description)
    extensions.injectTableFunction(SampleInSql.description)
    extensions.injectHintResolutionRule(_ => IncrementalHint)
    extensions.injectHintResolutionRule(_ => NamesAsArguments)
    extensions.injectHintResolutionRule(new CompileDeltas(_))
    extensions.injectResolutionRule(_ => ResolveDeltaOutput)
    extensions.injectPostHocResolutionRule(new MaskStreams(_))
    extensions.injectPostHocResolutionRule(new StartCheck(_))
    extensions.injectPostHocResolutionRule(new ShareSources(_))
    extensions.injectPostHocResolutionRule(new WholeBatches(_))
    extensions.injectPlanNormalizationRule(new LookAtDeltas(_))
    extensions.injectPlanNormalizationRule { session =>
      new HideIdleSources(
        () => StreamContext.runState(session),
        Inspection.rewrites(session, _),
        () => StreamContext.decide(session, Map.empty),
        () => SparkMembers.missing
      )
    }
    extensions.injectPreCBORule { session =>
      new RewriteStreamingJoins(
        () => JoinlessConf.active,
        () => StreamContext.runState(session),
        StreamContext.decide(session, _),
        new SqlText(session),
        () => SparkMembers.missing,
        () => StreamContext.current(session).forall(_.updates),
        () => StreamContext.query(session)
      )
    }
    extensions.injectPlannerStrategy(_ => ThinFiltered)
    extensions.injectPlannerStrategy(new JoinFreeStrategy(_))
  }
}
