package io.joinless.bench

import java.util
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** A sink that counts and checks every row and keeps nothing: what all of Spark's pipelines write to in the benchmark.
  *
  * Option `run` names the result, which [[CheckingSink.results]] hands out batch by batch. A row with a `_change_type`
  * `delete` counts as lost. Option `columns` (0 if absent) says how many leading BIGINT columns the check covers:
  * `(x1 + 7) (xlast + 11) + 3 x1 + 5 x2 + ...`, summed modulo 2^64.
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

  /** Of a run's batches in order: gained, lost, check; three numbers per batch. Empties the run. */
  def results(run: String): Array[Long] =
    Option(written.remove(run)).toArray.flatMap(_.values.toArray(Array.empty[Counts])).flatMap(c =>
      Array(c.plus, c.minus, c.check)
    )

  private object CheckingTable extends SupportsWrite {
    override def name(): String = "checked"
    override def schema(): StructType = new StructType
    override def capabilities(): util.Set[TableCapability] =
      util.EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA)
    override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
      override def build(): Write = new CheckingWrite(
        info.options.get("run"),
        Factory(
          info.options.getInt("columns", 0),
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

  private case class Factory(columns: Int, change: Int) extends DataWriterFactory with StreamingDataWriterFactory {
    override def createWriter(partition: Int, task: Long): DataWriter[InternalRow] = new Checker(columns, change)
    override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] =
      new Checker(columns, change)
  }

  private val delete = UTF8String.fromString("delete")

  final private class Checker(columns: Int, change: Int) extends DataWriter[InternalRow] {
    private[this] var plus, minus, sum = 0L

    override def write(row: InternalRow): Unit = {
      var check = 0L
      if (columns > 0) {
        check = (row.getLong(0) + 7) * (row.getLong(columns - 1) + 11)
        var i = 0
        while (i < columns) { check += (2 * i + 3) * row.getLong(i); i += 1 }
      }
      if (change >= 0 && row.getUTF8String(change) == delete) { minus += 1; sum -= check }
      else { plus += 1; sum += check }
    }

    override def commit(): WriterCommitMessage = Counts(plus, minus, sum)
    override def abort(): Unit = ()
    override def close(): Unit = ()
  }
}
