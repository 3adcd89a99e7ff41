package io.joinless.spark.compile

import io.joinless.spark.rules.counts.Demand
import io.joinless.spark.spec.SampleSpec
import org.apache.spark.sql.catalyst.expressions.Attribute

/** The consumer of the changes of rows.
  *
  * @param isResult no stateful operator stands above: then rows are stored, for the complete result
  * @param demand what is needed of rows that are added up; None where equal rows are emitted one by
  *   one
  * @param sample the part of results that is needed; None for all
  */
sealed abstract private[compile] class Consumer(
    val isResult: Boolean,
    val demand: Option[Demand],
    val sample: Option[SampleSpec] = None
) {

  /** The consumer for the input of a window: windows read the rows themselves. */
  def ofWindows: Consumer = if (isResult) this else Consumer.Block

  /** The consumer for the input of an operator that makes its rows one by one from input rows. */
  def ofRows: Consumer = this
}

private[compile] object Consumer {
  case object Result extends Consumer(isResult = true, None)
  case object Block extends Consumer(isResult = false, None)

  /** @param by the columns of the rows by which they are grouped */
  final case class Sample(of: SampleSpec, by: Seq[Attribute]) extends Consumer(isResult = false, None, Some(of))
  final case class Groups(of: Demand) extends Consumer(isResult = false, Some(of)) {
    override def ofRows: Consumer = Groups(of.ofRows)
  }
}
