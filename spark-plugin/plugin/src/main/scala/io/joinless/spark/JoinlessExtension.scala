package io.joinless.spark

import io.joinless.spark.changes.{IncrementalHint, MaskStreams, NamesAsArguments, ResolveDeltaOutput}
import io.joinless.spark.checkpoint.StreamContext
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.evolve.TakeStoredRows
import io.joinless.spark.functions.{ResolveCalls, SqlFunctions}
import io.joinless.spark.inspect.{Inspection, SqlText}
import io.joinless.spark.planner.JoinFreeStrategy
import io.joinless.spark.procedures.JoinlessCatalog
import io.joinless.spark.rules.rewrite.RewriteStreamingJoins
import io.joinless.spark.source.ThinFiltered
import io.joinless.spark.start.{
  CompileDeltas,
  HideIdleSources,
  LookAtDeltas,
  ShareSources,
  SparkCheck,
  StartCheck,
  TakeOver,
  WholeBatches
}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.joinless.{HintRules, SparkMembers}

/** The class that a user names in `spark.sql.extensions`. It registers every part of Joinless. */
class JoinlessExtension extends (SparkSessionExtensions => Unit) {

  private val names = new NamesAsArguments(SqlFunctions.takingNames)

  private val hintRules: Seq[SparkSession => Rule[LogicalPlan]] =
    Seq(_ => IncrementalHint, _ => names, new CompileDeltas(_))

  /** Registers all rules with a session. Called once, when Spark creates it. */
  override def apply(extensions: SparkSessionExtensions): Unit = {
    SparkCheck.version()
    JoinlessConf.register()
    JoinlessCatalog.register()
    SqlFunctions.all.foreach(extensions.injectTableFunction)
    hintRules.foreach(extensions.injectHintResolutionRule)
    extensions.injectResolutionRule(session => new HintRules(session, hintRules.map(_(session))))
    // again, for the first plan of a session with Hive
    Seq(IncrementalHint, names).foreach(rule => extensions.injectResolutionRule(_ => rule))
    extensions.injectResolutionRule(new ResolveCalls(_))
    extensions.injectResolutionRule(_ => ResolveDeltaOutput)
    extensions.injectPostHocResolutionRule(new MaskStreams(_))
    extensions.injectPostHocResolutionRule(new StartCheck(_))
    extensions.injectPostHocResolutionRule(new ShareSources(_))
    extensions.injectPostHocResolutionRule(new TakeOver(_))
    extensions.injectPostHocResolutionRule(new WholeBatches(_))
    extensions.injectPlanNormalizationRule(new LookAtDeltas(_))
    extensions.injectPlanNormalizationRule(new TakeStoredRows(_))
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
