package io.joinless.spark.plans

/** A table that shows one committed batch, whatever is committed later. */
trait CommittedTable
