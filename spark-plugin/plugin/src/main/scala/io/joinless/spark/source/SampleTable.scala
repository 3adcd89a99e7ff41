package io.joinless.spark.source

import io.joinless.engine.tuples.TupleArena
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.rows.OutputRow
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.spec.{BlockSpec, RowCodec, SpecComparison}
import io.joinless.spark.state.CommittedStores
import io.joinless.spark.state.cells.StoredSample
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.{PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

/** The sample that is kept of a block's results as of one committed batch: the sampled copies in
  * the stores of its cells, with their keys if the samples of several cells are merged above. No
  * view tree is rebuilt.
  *
  * @param spec the snapshot's, as the query continues it
  */
final private case class SampleTable(snapshot: Snapshot, spec: BlockSpec, readSchema: StructType) extends WholeTable {

  override def name: String = s"joinless.`${snapshot.checkpoint}`.sample"

  override def description(): String =
    s"joinless sample of ${spec.relations.map(_.name).mkString(", ")} as of batch ${snapshot.batch}, ${spec.cells} cells, " +
      s"checkpoint: ${snapshot.checkpoint}"

  override protected def parts: Int = spec.cells

  override def createReaderFactory(): PartitionReaderFactory = SampleReaderFactory(spec, snapshot.stores)
}

private object SampleTable {

  /** The table of a snapshot, as a plan with the columns of `join`, but the weight.
    *
    * @param join a sampled block of the compiled query; the snapshot is of the same block
    */
  def relation(snapshot: Snapshot, join: JoinFreeJoin): LogicalPlan = {
    val columns = join.output.init
    val spec = SpecComparison.continued(snapshot.spec, join.shape)
    WholeTable.relation(SampleTable(snapshot, spec, WholeTable.schema(columns)), columns)
  }
}

final private case class SampleReaderFactory(spec: BlockSpec, stores: CommittedStores) extends CellReaderFactory {
  override protected def reader(cell: Int): PartitionReader[InternalRow] = new SampleReader(spec, stores, cell)
}

/** The sampled copies of one cell. The same row object each time. Memory: the stored copies. */
final private class SampleReader(spec: BlockSpec, stores: CommittedStores, cell: Int) extends LazyReader {
  private[this] val relations = spec.relations.size
  private[this] val isKeyed = spec.shape.sample.exists(_.keyed)
  private[this] val inputs = RowCodec.blockDef(spec).inputs
  private[this] val arenas = spec.relations.map(r => new TupleArena(inputs(r.input).fixedWords)).toArray
  private[this] val output = new OutputRow(spec, arenas(_), numbers = if (isKeyed) 1 else 0)
  private[this] val rowIds = new Array[Int](relations)
  private[this] val key = new Array[Long](1)
  private[this] val all = (1L << relations) - 1

  // row by row, since each is the same object
  override protected def open(): Iterator[InternalRow] =
    stored().flatMap { case (number, content) => entries(number, content).iterator.map(row) }

  private def entries(number: Long, content: Array[Byte]): Seq[StoredSample.Entry] =
    StoredSample.read(number, content, relations, JoinlessErrors.corruptBlock(_, cell, stores.batch, _))

  private def stored(): Iterator[(Long, Array[Byte])] = stores.read(cell) { blocks =>
    blocks.collect {
      case (number, value) if StoredSample.isSample(number) =>
        number.getLong(0) -> value.getBinary(0)
    }.toList
  }.iterator

  private def row(entry: StoredSample.Entry): InternalRow = {
    for (r <- 0 until relations) {
      if (arenas(r).live > 0) arenas(r).free(rowIds(r))
      rowIds(r) = arenas(r).append(entry.rows(r), 0, entry.rows(r).length)
    }
    if (!isKeyed) output.update(rowIds, all)
    else {
      key(0) = java.lang.Double.doubleToRawLongBits(entry.key)
      output.update(rowIds, all, key)
    }
  }

  override def close(): Unit = ()
}
