package io.joinless.spark.plans.nodes

/** A table that shows one committed batch, even when later ones are committed. */
trait CommittedTable
