package io.joinless.spark.compile

import io.joinless.spark.compile.template.FirstRows
import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.plans.marks.SampleOf
import io.joinless.spark.rules.blocks.{Conditions, JoinBlock, OuterScope, Term}
import io.joinless.spark.spec.{BlockShape, SampleSpec}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Window}
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types.DoubleType

/** The samples that a query keeps. A sample is kept by one cell. Where the user has chosen several
  * cells, each keeps a sample of the same size of its own results, with the random keys of its
  * rows; the first rows of all in the order of the keys are the sample ([[OrderedRows]]): keys are
  * independent, so these are the results with the least keys of all. Where a sample is kept per
  * group, these are the first rows of each group.
  *
  * @param severalCells what the settings say for a new checkpoint
  */
final private[compile] class SampledRows(severalCells: Boolean, recorded: Seq[BlockShape]) {

  /** The plan with samples that are merged where they are of several cells. */
  def merged(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case sample @ SampleOf(child, size, _, by, None) if isKeyed(sample) =>
      val key = AttributeReference("key", DoubleType, nullable = false)()
      val keyed = sample.copy(key = Some(key))
      val order = Seq(SortOrder(key, Ascending))
      Project(
        child.output,
        if (by.isEmpty) FirstRows(order, 0L, Some(size.toLong), keyed) else firstOfEach(by, order, size, keyed)
      )
  }

  /** The first rows, in this order, of each group of rows by some columns. Where equal values can
    * differ, rows are divided by the bytes of their keys.
    */
  private def firstOfEach(by: Seq[Attribute], order: Seq[SortOrder], size: Int, rows: LogicalPlan): LogicalPlan = {
    val keys = by.filterNot(a => KeyBytes.groupable(a.dataType)).map(a => a -> Alias(KeyBytes.stored(a), "group")())
    val keyed = if (keys.isEmpty) rows else Project(rows.output ++ keys.map(_._2), rows)
    val groups = by.map(a => keys.collectFirst { case (`a`, key) => key.toAttribute }.getOrElse(a))
    val frame = SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)
    val number = Alias(WindowExpression(RowNumber(), WindowSpecDefinition(groups, order, frame)), "number")()
    Filter(LessThanOrEqual(number.toAttribute, Literal(size)), Window(Seq(number), groups, order, keyed))
  }

  private def isKeyed(sample: SampleOf): Boolean =
    recorded.flatMap(_.sample).find(s => s.size == sample.size && s.seed == sample.seed).fold(severalCells)(_.keyed)
}

private[compile] object SampledRows {

  /** The sample as it is recorded, without the attributes by which results are grouped: these are
    * the block's.
    */
  def spec(mark: SampleOf): SampleSpec = SampleSpec(mark.size, mark.seed, mark.key.isDefined)

  /** A block that is sampled, with its results grouped by these columns. */
  def grouped(block: JoinBlock, by: Seq[Attribute]): JoinBlock = block.copy(groupedBy =
    groupedBy(block, by).getOrElse(
      throw new IllegalStateException("results that cannot be grouped are stored row by row")
    )
  )

  /** The terms that columns of a block's result are, each of one leaf; None if one of them is not, or
    * can fail: Spark computes it for results only. A literal is no term: it divides no group.
    */
  def groupedBy(block: JoinBlock, columns: Seq[Attribute]): Option[IndexedSeq[Term]] = {
    val meanings =
      columns.flatMap(column => block.output.collectFirst { case (own, m) if own.exprId == column.exprId => m })
    val terms = meanings.filterNot(_.isInstanceOf[Literal]).map { meaning =>
      val read = OuterScope.attributes(meaning).map(_.exprId).toSet
      val leaves = block.leaves.indices.filter(block.leaves(_).attributes.exists(a => read(a.exprId)))
      val isTerm = leaves.size == 1 && meaning.deterministic && !Conditions.isLate(meaning) && !CanThrow(meaning)
      Option.when(isTerm)(Term(leaves.head, meaning))
    }
    Option.when(meanings.size == columns.size && terms.forall(_.isDefined))(terms.flatten.toIndexedSeq)
  }
}
