package io.joinless.spark

import io.joinless.spark.start.ForcedWithout
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

/** Spark calls this in each session whose class path has our jar, also where
  * `spark.sql.extensions` does not name [[JoinlessExtension]]. It registers one rule, which refuses
  * streaming queries if `spark.joinless.mode` is `force` and the extension is missing: they would
  * run without Joinless, and nobody would notice.
  */
final class MissingExtension extends SparkSessionExtensionsProvider {

  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectPostHocResolutionRule(new ForcedWithout(_))
}
