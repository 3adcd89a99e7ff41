package io.joinless.spark.source

import io.joinless.engine.reduce.RestoredResults
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.exec.rows.{ReducedOutput, ResidualPredicates}
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.spec.{BlockSpec, ReducedBlock, SpecComparison}
import io.joinless.spark.state.CommittedStores
import io.joinless.spark.state.log.ChangeLogReader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.StructType

/** The sums of a counted block's results as of one committed batch, without enumerating the
  * results: the projected columns, sums, and the number of results. A row may occur several times;
  * its numbers are to be added up.
  *
  * One Spark partition per cell, whose sums are rebuilt from its log.
  *
  * @param spec the snapshot's, with the current residuals
  * @param conditions the conditions on rows of single relations
  */
final private case class IncrementsTable(
    snapshot: Snapshot,
    spec: BlockSpec,
    residuals: Seq[Expression],
    readSchema: StructType,
    conditions: Seq[RelationFilter]
) extends WholeTable {

  override def name: String = s"joinless.`${snapshot.checkpoint}`.counts"

  override def description(): String =
    s"joinless counts over ${spec.relations.map(_.name).mkString(", ")} as of batch ${snapshot.batch}, ${spec.cells} cells, " +
      s"checkpoint: ${snapshot.checkpoint}"

  override protected def parts: Int = spec.cells

  override def createReaderFactory(): PartitionReaderFactory =
    IncrementsReaderFactory(spec, residuals, conditions, snapshot.stores, JoinlessConf.active.cacheMaxBytes)
}

private object IncrementsTable {

  /** The table of a snapshot, as a plan with the columns of `join`.
    *
    * @param join a block of the compiled query; the snapshot is of the same block, as it was stored
    */
  def relation(snapshot: Snapshot, join: JoinFreeJoin, conditions: Seq[RelationFilter]): LogicalPlan = {
    val spec = SpecComparison.continued(snapshot.spec, join.shape)
    val table = IncrementsTable(snapshot, spec, join.residuals, WholeTable.schema(join.output), conditions)
    WholeTable.relation(table, join.output)
  }
}

final private case class IncrementsReaderFactory(
    spec: BlockSpec,
    residuals: Seq[Expression],
    conditions: Seq[RelationFilter],
    stores: CommittedStores,
    cacheMaxBytes: Long
) extends CellReaderFactory {

  override protected def reader(cell: Int): PartitionReader[InternalRow] = new IncrementsReader(this, cell)
}

/** The sums of one cell's results. The same row object each time. */
final private class IncrementsReader(scan: IncrementsReaderFactory, cell: Int) extends PartitionReader[InternalRow] {
  private[this] val tree = new CellTree(scan.spec, scan.stores, cell, scan.cacheMaxBytes)
  private[this] var results: RestoredResults = _
  private[this] var output: ReducedOutput = _
  private[this] var current: InternalRow = _

  override def next(): Boolean = {
    if (results == null) start()
    current = if (results.next()) output.update(results.rows, results.changed, results.element) else null
    current != null
  }

  /** Rebuilds the cell's sums; their results are then read one by one. */
  private def start(): Unit = {
    val keep = if (scan.conditions.isEmpty) ChangeLogReader.All else new PushedFilters(scan.spec, scan.conditions)
    val sums = tree.sums(keep)
    val block = ReducedBlock(scan.spec.shape, scan.spec.shape.reduction.get)
    results = new RestoredResults(sums, ResidualPredicates.compile(block.top, scan.residuals, sums.projectedRows))
    output = new ReducedOutput(scan.spec, sums)
  }

  override def get(): InternalRow = current

  override def close(): Unit = {
    results = null
    tree.close()
  }
}
