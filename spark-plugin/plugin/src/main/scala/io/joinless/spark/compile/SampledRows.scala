package io.joinless.spark.compile

import io.joinless.spark.compile.template.FirstRows
import io.joinless.spark.plans.marks.SampleOf
import io.joinless.spark.spec.{BlockShape, SampleSpec}
import org.apache.spark.sql.catalyst.expressions.{Ascending, AttributeReference, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.DoubleType

/** The samples that a query keeps. A sample is kept by one cell. Where the user has chosen several
  * cells, each keeps a sample of the same size of its own results, with the random keys of its
  * rows; the first rows of all in the order of the keys are the sample ([[OrderedRows]]): keys are
  * independent, so these are the results with the least keys of all.
  *
  * @param severalCells what the settings say for a new checkpoint
  */
final private[compile] class SampledRows(severalCells: Boolean, recorded: Seq[BlockShape]) {

  /** The plan with samples that are merged where they are of several cells. */
  def merged(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case SampleOf(child, size, seed, None) if isKeyed(size, seed) =>
      val key = AttributeReference("key", DoubleType, nullable = false)()
      val keyed = SampleOf(child, size, seed, Some(key))
      Project(child.output, FirstRows(Seq(SortOrder(key, Ascending)), 0L, Some(size.toLong), keyed))
  }

  private def isKeyed(size: Int, seed: Long): Boolean =
    recorded.flatMap(_.sample).find(s => s.size == size && s.seed == seed).fold(severalCells)(_.keyed)
}

private[compile] object SampledRows {

  /** The sample as it is recorded. */
  def spec(mark: SampleOf): SampleSpec = SampleSpec(mark.size, mark.seed, mark.key.isDefined)
}
