package io.joinless.spark.changes

import java.util

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** A catalog whose tables have changes, for `spark.readStream.changes(...)`: commits that a test
  * adds, in memory.
  *
  * The changes may hold carry-over pairs (a row rewritten unchanged), which Spark removes unless an
  * option keeps them.
  */
final class ChangesCatalog extends TableCatalog {
  private var called = ""

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = called = name
  override def name(): String = called

  override def loadChangelog(
      ident: Identifier,
      context: ChangelogContext,
      options: CaseInsensitiveStringMap
  ): org.apache.spark.sql.connector.catalog.Changelog = new ChangesCatalog.Feed(ident.name)

  override def loadTable(ident: Identifier): Table = throw unsupported
  override def listTables(namespace: Array[String]): Array[Identifier] = Array.empty
  override def alterTable(ident: Identifier, changes: TableChange*): Table = throw unsupported
  override def dropTable(ident: Identifier): Boolean = throw unsupported
  override def renameTable(from: Identifier, to: Identifier): Unit = throw unsupported

  private def unsupported = new UnsupportedOperationException("only changes can be read")
}

object ChangesCatalog {
  type Change = (String, Long, Long, Long)
  private val commits = new util.concurrent.ConcurrentHashMap[String, ArrayBuffer[Seq[Change]]]

  private def commitsOf(table: String): ArrayBuffer[Seq[Change]] =
    commits.computeIfAbsent(table, _ => ArrayBuffer.empty)

  /** One commit of rows `(change type, a, b, version in which the row was last written)`. */
  def commit(table: String, changes: Change*): Unit = commits.synchronized {
    val _ = commitsOf(table).append(changes)
  }

  final private class Feed(table: String) extends org.apache.spark.sql.connector.catalog.Changelog {
    override def name(): String = table
    override def columns(): Array[Column] = Array(
      Column.create("a", LongType, false),
      Column.create("b", LongType, true),
      Column.create("_row_version", LongType, false),
      Column.create("_change_type", StringType, false),
      Column.create("_commit_version", LongType, false),
      Column.create("_commit_timestamp", TimestampType, false)
    )
    override def containsCarryoverRows(): Boolean = true
    override def containsIntermediateChanges(): Boolean = false
    override def representsUpdateAsDeleteAndInsert(): Boolean = false
    override def rowId(): Array[NamedReference] = Array(Expressions.column("a"))
    override def rowVersion(): NamedReference = Expressions.column("_row_version")
    override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new FeedScan(table, this)
  }

  final private class FeedScan(table: String, feed: Feed) extends Scan {
    override def readSchema(): StructType =
      StructType(feed.columns().map(c => StructField(c.name, c.dataType, c.nullable)))
    override def toMicroBatchStream(checkpointLocation: String): MicroBatchStream = new FeedStream(table)
  }

  final private case class At(commit: Int) extends Offset {
    override def json(): String = commit.toString
  }

  final private case class Rows(rows: Seq[InternalRow]) extends InputPartition

  final private class FeedStream(table: String) extends MicroBatchStream {
    override def initialOffset(): Offset = At(0)
    override def latestOffset(): Offset = commits.synchronized(At(commitsOf(table).size))
    override def deserializeOffset(json: String): Offset = At(json.toInt)
    override def commit(end: Offset): Unit = ()
    override def stop(): Unit = ()

    override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = (start, end) match {
      case (At(from), At(until)) =>
        val rows = for {
          n <- from until until
          (kind, a, b, version) <- commits.synchronized(commitsOf(table)(n))
        } yield InternalRow(a, b, version, UTF8String.fromString(kind), n.toLong, (n + 1) * 1000000L)
        Array(Rows(rows))
      case other => throw new IllegalArgumentException(other.toString)
    }

    override def createReaderFactory(): PartitionReaderFactory = {
      case Rows(rows) =>
        new PartitionReader[InternalRow] {
          private var at = -1
          override def next(): Boolean = { at += 1; at < rows.size }
          override def get(): InternalRow = rows(at)
          override def close(): Unit = ()
        }
      case other => throw new IllegalArgumentException(other.toString)
    }
  }
}
