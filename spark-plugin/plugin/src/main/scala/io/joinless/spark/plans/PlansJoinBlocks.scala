package io.joinless.spark.plans

/** Marks the strategy by which a session is known to have the extension, whether it came by conf or by code. */
trait PlansJoinBlocks
