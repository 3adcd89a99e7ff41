package io.joinless.spark.source

import io.joinless.spark.checkpoint.{CommittedState, RecordedGroups}
import io.joinless.spark.exec.groups.GroupValues
import io.joinless.spark.plans.nodes.Groups
import io.joinless.spark.plans.values.GroupFunction
import io.joinless.spark.spec.GroupShape
import io.joinless.spark.state.CommittedStores
import io.joinless.spark.state.asof.StoredAsOf
import io.joinless.spark.state.groups.{GroupArgument, GroupTotals, StoredGroups}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.joinless.CellBlocks
import org.apache.spark.sql.types.{DataType, StructType}

/** All groups of a GROUP BY as of one committed batch, as its state stores hold them: the grouping
  * columns, then the values of the functions. They equal the groups that the running query emitted,
  * sums to the last bit.
  *
  * One Spark partition per store. Only the current group is in memory; nothing below the groups is
  * read.
  */
final private case class GroupsTable(
    checkpoint: String,
    batch: Long,
    recorded: RecordedGroups,
    functions: Seq[GroupFunction],
    names: IndexedSeq[String],
    stores: CommittedStores
) extends WholeTable {

  /** The types of the columns. */
  private def types: IndexedSeq[DataType] =
    recorded.shape.columns.map(_.dataType) ++ functions.map(_.function.dataType)

  override def name: String = s"joinless.`$checkpoint`.groups"

  override def readSchema(): StructType =
    names.zip(types).foldLeft(new StructType) { case (schema, (name, dataType)) => schema.add(name, dataType) }

  override def description(): String =
    s"joinless groups ${recorded.shape.text} as of batch $batch, ${recorded.partitions} stores, checkpoint: $checkpoint"

  override protected def parts: Int = recorded.partitions

  override def createReaderFactory(): PartitionReaderFactory =
    GroupsReaderFactory(recorded.shape, functions, GroupArgument.of(functions, recorded.shape), stores)
}

private object GroupsTable {

  /** The groups that a query keeps, as a plan with the attributes of `groups` but for the weight.
    */
  def relation(state: CommittedState, recorded: RecordedGroups, groups: Groups): LogicalPlan = {
    val output = groups.output.init
    val names = DistinctNames(output.map(_.name).toIndexedSeq)
    val table =
      GroupsTable(state.checkpoint, state.batch, recorded, groups.functions, names, state.stores(recorded))
    WholeTable.relation(table, output)
  }
}

final private case class GroupsReaderFactory(
    shape: GroupShape,
    functions: Seq[GroupFunction],
    arguments: Seq[GroupArgument],
    stores: CommittedStores
) extends CellReaderFactory {

  override protected def reader(cell: Int): PartitionReader[InternalRow] = new GroupsReader(this, cell)
}

/** The groups of one store, one by one. The same row object each time. */
final private class GroupsReader(scan: GroupsReaderFactory, partition: Int) extends PartitionReader[InternalRow] {
  private[this] val keys = scan.shape.columns.map(_.dataType)
  private[this] val arguments = scan.arguments.toArray
  private[this] val values = new GroupValues(scan.functions)
  private[this] val functionValues = new GenericInternalRow(scan.functions.size)
  private[this] val joined = new JoinedRow
  private[this] val project = UnsafeProjection.create((keys ++ scan.functions.map(_.function.dataType)).toArray)
  private[this] var store: CellBlocks = _
  private[this] var groups: Iterator[(UnsafeRow, Array[Byte])] = _
  private[this] var stored: StoredGroups = _
  private[this] lazy val joinable = new StoredAsOf(keys, store)
  private[this] var current: InternalRow = _

  /** Moves to the next group; the first call opens the store. */
  override def next(): Boolean = {
    if (store == null) {
      store = scan.stores.open(partition)
      stored = new StoredGroups(keys, scan.shape.holdsValues, scan.shape.isClosing, store)
      groups = store.blocks.flatMap(stored.group)
    }
    val more = groups.hasNext
    current = if (more) row(groups.next()) else null
    more
  }

  override def get(): InternalRow = current

  override def close(): Unit = if (store != null) store.close()

  /** The key and the functions' values of a stored group, from its totals. */
  private def row(group: (UnsafeRow, Array[Byte])): InternalRow = {
    val totals = GroupTotals.kept(arguments)
    totals.add(group._2)
    totals.load(if (scan.shape.isAsOf) _ => joinable.all(group._1) else stored.values(group._1, _))
    values.write(totals, functionValues)
    project(joined(group._1, functionValues))
  }
}
