package io.joinless.bench

import java.util
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** A sink that counts and checks every row and stores nothing (except with `keys`). All Spark
  * pipelines of the benchmark write to it.
  *
  * Option `run` names the result, which [[CheckingSink.results]] returns batch by batch. A row with
  * the `_change_type` `delete` counts as lost. Option `columns` (0 if absent) is the number of
  * leading BIGINT columns that the check covers: `(x1 + 7) (xlast + 11) + 3 x1 + 5 x2 + ...`,
  * summed modulo 2^64.
  *
  * Option `keys` (0 if absent) is for update mode, where a row replaces the earlier row with the
  * same leading columns. The sink keeps the check of each such key, counts the replaced row as
  * lost, and ignores a row that is unchanged. This requires each key in one partition of the last
  * stage, and no repeated task.
  */
final class CheckingSink extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = new StructType
  override def supportsExternalMetadata(): Boolean = true
  override def getTable(schema: StructType, parts: Array[Transform], properties: util.Map[String, String]): Table =
    CheckingSink.CheckingTable
}

object CheckingSink {

  /** Rows gained and lost, and the sum of their checks. */
  final case class Counts(var plus: Long, var minus: Long, var check: Long) extends WriterCommitMessage

  private val written = new ConcurrentHashMap[String, util.TreeMap[Long, Counts]]

  /** The batches of a run in order: gained, lost, check; three numbers per batch. Removes the run.
    */
  def results(run: String): Array[Long] = {
    emitted.keySet.removeIf(_._1 == run)
    Option(written.remove(run)).toArray.flatMap(_.values.toArray(Array.empty[Counts])).flatMap(c =>
      Array(c.plus, c.minus, c.check)
    )
  }

  private object CheckingTable extends SupportsWrite {
    override def name(): String = "checked"
    override def schema(): StructType = new StructType
    override def capabilities(): util.Set[TableCapability] =
      util.EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA)
    override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new SupportsStreamingUpdateAsAppend {
      override def build(): Write = new CheckingWrite(
        info.options.get("run"),
        Factory(
          info.options.get("run"),
          info.options.getInt("columns", 0),
          info.options.getInt("keys", 0),
          info.schema.fields.indexWhere(f => f.name == "_change_type" && f.dataType == StringType)
        ),
        info.schema
      )
    }
  }

  private class CheckingWrite(run: String, factory: Factory, schema: StructType) extends Write {
    require(
      schema.fields.take(factory.columns).forall(_.dataType == LongType),
      s"the first ${factory.columns} columns must be BIGINT: ${schema.catalogString}"
    )

    private def keep(epoch: Long, messages: Array[WriterCommitMessage]): Unit = {
      val sum = Counts(0, 0, 0)
      messages.foreach {
        case Counts(plus, minus, check) => sum.plus += plus; sum.minus += minus; sum.check += check
        case _ => ()
      }
      val batches = written.computeIfAbsent(run, _ => new util.TreeMap[Long, Counts])
      batches.synchronized(batches.put(epoch, sum))
      ()
    }

    override def supportedCustomMetrics(): Array[CustomMetric] = Array.empty

    override def toBatch: BatchWrite = new BatchWrite {
      override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = factory
      override def commit(messages: Array[WriterCommitMessage]): Unit = keep(0, messages)
      override def abort(messages: Array[WriterCommitMessage]): Unit = ()
    }

    override def toStreaming: StreamingWrite = new StreamingWrite {
      override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = factory
      override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = keep(epoch, messages)
      override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()
    }
  }

  /** The rows emitted in update mode so far, by run and partition: check by key. */
  private val emitted = new ConcurrentHashMap[(String, Int), util.HashMap[Seq[Long], Long]]

  private case class Factory(run: String, columns: Int, keys: Int, change: Int) extends DataWriterFactory
      with StreamingDataWriterFactory {
    override def createWriter(partition: Int, task: Long): DataWriter[InternalRow] = createWriter(partition, task, 0)
    override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] =
      if (keys == 0) new Checker(columns, change)
      else new Replacing(columns, keys, emitted.computeIfAbsent((run, partition), _ => new util.HashMap))
  }

  private val delete = UTF8String.fromString("delete")

  private def checkOf(row: InternalRow, columns: Int): Long = {
    var check = (row.getLong(0) + 7) * (row.getLong(columns - 1) + 11)
    var i = 0
    while (i < columns) { check += (2 * i + 3) * row.getLong(i); i += 1 }
    check
  }

  final private class Replacing(columns: Int, keys: Int, known: util.HashMap[Seq[Long], Long])
      extends DataWriter[InternalRow] {
    private[this] var plus, minus, sum = 0L

    override def write(row: InternalRow): Unit = {
      val check = checkOf(row, columns)
      val key = Seq.tabulate(keys)(row.getLong)
      if (!known.containsKey(key)) { plus += 1; sum += check }
      else {
        val before = known.get(key)
        if (before != check) { plus += 1; minus += 1; sum += check - before }
      }
      known.put(key, check)
      ()
    }

    override def commit(): WriterCommitMessage = Counts(plus, minus, sum)
    override def abort(): Unit = ()
    override def close(): Unit = ()
  }

  final private class Checker(columns: Int, change: Int) extends DataWriter[InternalRow] {
    private[this] var plus, minus, sum = 0L

    override def write(row: InternalRow): Unit = {
      val check = if (columns > 0) checkOf(row, columns) else 0L
      if (change >= 0 && row.getUTF8String(change) == delete) { minus += 1; sum -= check }
      else { plus += 1; sum += check }
    }

    override def commit(): WriterCommitMessage = Counts(plus, minus, sum)
    override def abort(): Unit = ()
    override def close(): Unit = ()
  }
}
