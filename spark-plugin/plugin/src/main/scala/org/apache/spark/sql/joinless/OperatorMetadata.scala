package org.apache.spark.sql.joinless

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try
import scala.util.control.NonFatal

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors, Mismatch}
import io.joinless.spark.state.StateFormat
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.StreamingCheckpointConstants
import org.apache.spark.sql.execution.streaming.state.{OperatorStateMetadataReader, OperatorStateMetadataV2}

/** Which stateful operators a checkpoint holds, by the metadata that Spark keeps for each of them in
  * `state/<operator>/_metadata`. Nothing is written.
  *
  *   - Metadata of version 2 with our operator name carries a block's spec; all else are Spark's operators.
  *   - Metadata is written once, so what a batch wrote that then failed is in force too, batch 0 included.
  *   - A folder without metadata belongs to a Spark that wrote none; or, in batch 0, to an attempt that failed before it
  *     wrote any, which leaves no state behind.
  *   - Version 2 metadata that cannot be read and names no other operator, or is gone while its schema files are there, may
  *     be ours: an error.
  *
  * Uses `OperatorStateMetadataReader` and `CheckpointFileManager`, internal to Spark; checked on 4.2.0.
  */
private[joinless] object OperatorMetadata {

  final case class Found(ours: Seq[StreamContext.Recorded], sparkOperators: Boolean)

  /** @param state the folder of all operators' state
    * @param batch the batch that is being planned
    */
  def read(session: SparkSession, state: String, batch: Long): Found =
    found(new OperatorMetadata(session.asInstanceOf[classic.SparkSession], new Path(state), batch, batch))

  private def found(reader: OperatorMetadata): Found = {
    val operators = reader.operators.map(reader.read)
    val ours = operators.collect { case Ours(block) => block }
    ours.groupBy(_.spec.ordinal).values.find(_.size > 1).foreach { twice =>
      reader.unreadable(s"Operators ${twice.map(_.operator).mkString(" and ")} claim to be the same join block.")
    }
    Found(ours, operators.contains(Sparks))
  }

  /** As `read`, for the batch that a query on this checkpoint plans first: the last one that was begun, or the one after it where
    * that is committed.
    */
  def ofNextBatch(session: SparkSession, checkpoint: String): Found = {
    val folder = new Path(checkpoint)
    val files =
      CheckpointFileManager.create(folder, session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf())
    def last(log: String): Option[Long] = {
      val path = new Path(folder, log)
      if (files.exists(path)) files.list(path).flatMap(f => Try(f.getPath.getName.toLong).toOption).maxOption else None
    }
    val begun = last(StreamingCheckpointConstants.DIR_NAME_OFFSETS)
    val committed = last(StreamingCheckpointConstants.DIR_NAME_COMMITS)
    val next = begun.fold(0L)(n => if (committed.contains(n)) n + 1 else n)
    val state = new Path(folder, StreamingCheckpointConstants.DIR_NAME_STATE)
    found(new OperatorMetadata(session.asInstanceOf[classic.SparkSession], state, next, begun.getOrElse(0)))
  }

  /** No metadata of an operator is as large; more is not read into memory. */
  private val MaxBytes = 64L << 20

  sealed trait Operator
  final case class Ours(block: StreamContext.Recorded) extends Operator
  case object Sparks extends Operator
  case object Stateless extends Operator
}

/** @param begun the last batch in the offset log: Spark's reader takes none beyond it */
final private class OperatorMetadata(session: classic.SparkSession, state: Path, batch: Long, begun: Long) {
  import OperatorMetadata._

  private val hadoop = session.sessionState.newHadoopConf()
  private val files = CheckpointFileManager.create(state, hadoop)

  def operators: Seq[Path] = if (files.exists(state)) {
    files.list(state).toSeq.map(_.getPath).filter(p => Try(p.getName.toLong).isSuccess).sortBy(_.getName.toLong)
  } else Nil

  def read(operator: Path): Operator = {
    val version2 = OperatorStateMetadataV2.metadataDirPath(operator)
    val batches = if (files.exists(version2)) files.list(version2).toSeq.map(_.getPath.getName) else Nil
    if (batches.exists(name => Try(name.toLong).toOption.exists(_ <= batch))) ofVersion2(operator)
    else if (files.exists(new Path(operator, "_metadata/metadata"))) Sparks
    else if (batch == 0) Stateless
    else if (files.exists(new Path(operator, "_stateSchema")))
      unreadable(s"The metadata of operator ${operator.getName} is gone, but its schema files are there.")
    else Sparks
  }

  private def ofVersion2(operator: Path): Operator = {
    metadata(operator).find(_.getLen > MaxBytes).foreach { file =>
      unreadable(s"The metadata of operator ${operator.getName} has ${file.getLen} bytes.")
    }
    try
      OperatorStateMetadataReader.createReader(operator, hadoop, 2, begun, createMetadataDir = false).read() match {
        case Some(OperatorStateMetadataV2(info, stores, json)) if info.operatorName == StateFormat.OperatorName =>
          val spec = StateFormat.fromJson(json, state.getParent.toString)
          if (info.operatorId.toString != operator.getName)
            unreadable(s"The metadata of operator ${operator.getName} is that of operator ${info.operatorId}.")
          Ours(StreamContext.Recorded(spec, info.operatorId, stores.headOption.fold(0)(_.numPartitions)))
        case _ => Sparks
      }
    catch {
      case mismatch: JoinlessAnalysisException => throw mismatch
      case NonFatal(_) if namesAnother(operator) => Sparks
      case NonFatal(e) => unreadable(s"The metadata of operator ${operator.getName} cannot be read: ${firstLine(e)}.")
      case _: StackOverflowError => unreadable(s"The metadata of operator ${operator.getName} is nested too deep.")
    }
  }

  private def metadata(operator: Path): Seq[FileStatus] =
    files.list(OperatorStateMetadataV2.metadataDirPath(operator)).toSeq
      .filter(f => Try(f.getPath.getName.toLong).toOption.exists(_ <= batch))

  /** Whether the text of the metadata, cut or garbled as it may be, still says that the operator is one of Spark's. */
  private def namesAnother(operator: Path): Boolean = Try {
    val in = files.open(metadata(operator).map(_.getPath).maxBy(_.getName.toLong))
    val text =
      try new String(in.readAllBytes(), UTF_8)
      finally in.close()
    "\"operatorName\":\"([^\"]+)\"".r.findFirstMatchIn(text).exists(_.group(1) != StateFormat.OperatorName)
  }.getOrElse(false)

  private def firstLine(e: Throwable): String =
    Option(e.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(e.getClass.getSimpleName)

  def unreadable(what: String): Nothing =
    throw JoinlessErrors.stateMismatch(Mismatch.Unreadable, state.getParent.toString, what)
}
