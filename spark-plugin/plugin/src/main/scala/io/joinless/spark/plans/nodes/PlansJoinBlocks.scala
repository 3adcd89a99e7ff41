package io.joinless.spark.plans.nodes

/** Marks the strategy by which a session is known to have the extension, whether it was installed
  * by configuration or by code.
  */
trait PlansJoinBlocks
