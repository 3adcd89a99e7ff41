package io.joinless.spark.source

import java.util

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.CommittedTable
import io.joinless.spark.plans.values.InPlaceOf
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  Expression,
  Literal,
  NamedExpression,
  SortOrder,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{Limit, LogicalPlan, Project, Sort, Union}
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.DataFrame

/** What Spark has no words for: the exact number of rows of a complete result, rows far beyond the
  * range of OFFSET, and a sample of a given size.
  *
  * A complete result is a DataFrame whose optimized plan is a scan of one, below conditions on
  * single rows and projections.
  */
object ResultsOnDemand {

  /** The largest sample: its positions are in memory. */
  final val MostSampled = 10000000

  /** How many rows `df` has. It costs one number per cell where nothing but projections and pushed
    * down conditions stand above results; elsewhere the rows are counted.
    */
  def count(df: DataFrame): BigInt = {
    check(df)
    counted(Plans.optimized(df)).getOrElse(BigInt(df.count()))
  }

  private def counted(plan: LogicalPlan): Option[BigInt] = plan match {
    case Project(_, child) => counted(child)
    case union: Union =>
      val parts = union.children.map(counted)
      Option.when(parts.forall(_.isDefined))(parts.flatten.sum)
    case relation: DataSourceV2ScanRelation => relation.scan match {
        case scan: ResultScan => scan.number
        case _ => None
      }
    case _ => None
  }

  /** The rows from number `offset` on, in the order of the result, at most `size` of them. */
  def page(df: DataFrame, offset: BigInt, size: Long): DataFrame = {
    check(df)
    if (offset < 0) throw JoinlessErrors.onDemand("OFFSET", "offset" -> offset.toString)
    if (size < 0 || size > Int.MaxValue) throw JoinlessErrors.onDemand("PAGE_SIZE", "size" -> size.toString)
    read(df, Reading.Page(offset, Some(offset + size)))
  }

  /** A uniform sample of `size` rows; without replacement all, if there are no more. */
  def sample(df: DataFrame, size: Long, seed: Long, replacement: Boolean): DataFrame = {
    check(df)
    if (size < 1 || size > MostSampled)
      throw JoinlessErrors.onDemand("SAMPLE_SIZE", "size" -> size.toString, "most" -> MostSampled.toString)
    read(df, Reading.Drawn(size.toInt, replacement, seed))
  }

  private def check(df: DataFrame): Unit = {
    if (!Inspection.hasExtension(df.sparkSession)) throw JoinlessErrors.extensionNotInstalled()
    if (df.isStreaming) throw JoinlessErrors.onDemand("STREAM")
  }

  /** The rows that are read of a plan, if it is one of a complete result: a scan whose columns are
    * those of the plan's scan.
    */
  private[source] def thinned(plan: LogicalPlan, reading: Reading.Thinned): Option[LogicalPlan] =
    of(plan, reading).map { case (list, scan, relation) => Project(list, relation.copy(scan = scan)) }

  private def read(df: DataFrame, reading: Reading): DataFrame = of(Plans.optimized(df), reading) match {
    case Some((list, scan, relation)) => Plans.dataFrame(df, Project(list, rows(scan, relation)))
    case None => throw JoinlessErrors.onDemand("NO_RESULT")
  }

  /** What is computed of the rows of a scan, that scan, and the one it replaces. */
  private def of(
      plan: LogicalPlan,
      reading: Reading
  ): Option[(Seq[NamedExpression], ResultScan, DataSourceV2ScanRelation)] = plan match {
    case PhysicalOperation(list, filters, relation @ Result(scan)) if filters.forall(isOfRow) =>
      // conditions that the scan has not taken are checked on its rows
      val more = filters.map(_.transform {
        case column: NamedExpression if relation.output.exists(_.exprId == column.exprId) =>
          scan.result.values(scan.columns(relation.output.indexWhere(_.exprId == column.exprId)))
      })
      // a result knows its numbers of rows, a copy does not
      val result = if (more.isEmpty) scan.result else scan.result.copy(filters = scan.result.filters ++ more)
      Some((list, scan.copy(result = result, reading = reading), relation))
    case _ => None
  }

  /** Whether a condition depends on the row alone. */
  private def isOfRow(condition: Expression): Boolean =
    condition.deterministic && !SubqueryExpression.hasSubquery(condition)

  private def rows(scan: ResultScan, relation: DataSourceV2ScanRelation): LogicalPlan = {
    val found = DataSourceV2Relation.create(new ScanTable(scan), None, None, CaseInsensitiveStringMap.empty)
    val kept = scan.reading match {
      case Reading.Drawn(size, _, _) =>
        Limit(Literal(size), Sort(Seq(SortOrder(found.output.last, Ascending)), global = true, found))
      case _ => found
    }
    Project(relation.output.zip(found.output).map { case (wanted, column) => InPlaceOf(wanted, column) }, kept)
  }

  private object Result {
    def unapply(relation: DataSourceV2ScanRelation): Option[ResultScan] = relation.scan match {
      case scan: ResultScan if scan.reading == Reading.Whole => Some(scan)
      case _ => None
    }
  }
}

/** What a scan reads, as a table. */
final private class ScanTable(scan: ResultScan) extends SupportsRead with CommittedTable {

  override def name: String = scan.result.name

  override def columns: Array[Column] =
    scan.readSchema().fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => scan
}
