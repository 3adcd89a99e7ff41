package io.joinless.spark.spec

/** All properties of blocks. A new one is a line here, and a file of its own. */
private[spec] object BlockProperties {

  /** In the order of their fields in a record: a new one is the last. */
  val all: Seq[BlockProperty[_]] = Seq(
    StaticsAtArrival,
    ResultSpec,
    MeaningSpec,
    FixedConditions,
    OriginSpec,
    ReductionSpec,
    ColumnsInOrder,
    SampleSpec
  )
}
