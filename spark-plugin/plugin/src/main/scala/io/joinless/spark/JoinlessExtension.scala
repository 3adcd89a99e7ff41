package io.joinless.spark

import io.joinless.spark.rules.{HideIdleSources, RewriteStreamingJoins}
import io.joinless.spark.strategy.{JoinFreeStrategy, StartCheck}
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.joinless.{SparkVersion, SqlText, StreamContext}

/** What a user names in `spark.sql.extensions`: the table of contents of Joinless. */
class JoinlessExtension extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    SparkVersion.check()
    JoinlessConf.register()
    extensions.injectPostHocResolutionRule(new StartCheck(_))
    extensions.injectPlanNormalizationRule(_ => HideIdleSources)
    extensions.injectPreCBORule { session =>
      new RewriteStreamingJoins(
        () => JoinlessConf.active,
        () => StreamContext.runState(session),
        StreamContext.decide(session, _),
        new SqlText(session)
      )
    }
    extensions.injectPlannerStrategy(new JoinFreeStrategy(_))
  }
}
