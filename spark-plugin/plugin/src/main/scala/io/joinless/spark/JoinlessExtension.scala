package io.joinless.spark

import io.joinless.spark.rules.{HideIdleSources, NameStreams, RewriteStreamingJoins}
import io.joinless.spark.strategy.JoinFreeStrategy
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.joinless.{SparkVersion, StreamContext}

/** What a user names in `spark.sql.extensions`: the table of contents of Joinless. */
class JoinlessExtension extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    SparkVersion.check()
    JoinlessConf.register()
    extensions.injectPlanNormalizationRule(_ => NameStreams)
    extensions.injectPlanNormalizationRule(_ => new HideIdleSources(() => JoinlessConf.active.enabled))
    extensions.injectPreCBORule { session =>
      new RewriteStreamingJoins(
        () => JoinlessConf.active,
        () => StreamContext.runState(session),
        StreamContext.decide(session, _)
      )
    }
    extensions.injectPlannerStrategy(new JoinFreeStrategy(_))
  }
}
