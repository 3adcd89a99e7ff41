package io.joinless.spark.checkpoint

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try
import scala.util.control.NonFatal

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors, Mismatch}
import io.joinless.spark.spec.{GroupFormat, StateFormat}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.{CheckpointFiles, CheckpointFolder, OperatorRecord}

/** The stateful operators of a checkpoint, by the metadata that Spark keeps for each of them in
  * `state/<operator>/_metadata`. Nothing is written.
  *
  *   - Metadata of version 2 with one of our operator names has a block's spec, or the shape of
  *     groups; all other operators are Spark's.
  *   - Metadata is written once, so metadata written by a batch that then failed is in force too,
  *     batch 0 included; that of some operators may be missing then.
  *   - A folder without metadata belongs to a Spark that wrote none; or, in batch 0, to an attempt
  *     that failed before it wrote any, which leaves no state behind.
  *   - Version 2 metadata that cannot be read and names no other operator, or that is missing
  *     although its schema files exist, may be ours: an error.
  */
private[spark] object OperatorMetadata {

  /** The stateful operators of a checkpoint: our blocks and groups, and whether there are others.
    *
    * @param groups in the order of their operators
    * @param batch the batch that is planned with it
    */
  final case class Found(ours: Seq[Recorded], groups: Seq[RecordedGroups], sparkOperators: Boolean, batch: Long)

  /** The operators of a checkpoint as a batch finds them.
    *
    * @param state the folder of all operators' state
    * @param batch the batch that is being planned
    */
  def read(session: SparkSession, state: Path, batch: Long): Found =
    found(new OperatorMetadata(session, state, batch, batch), batch)

  /** Reads all operators, and refuses two that claim to be the same block. */
  private def found(reader: OperatorMetadata, batch: Long): Found = {
    val operators = reader.operators.map(reader.read)
    val ours = operators.collect { case Ours(block) => block }
    ours.groupBy(_.spec.id).values.find(_.size > 1).foreach { twice =>
      reader.unreadable(s"Operators ${twice.map(_.operator).mkString(" and ")} claim to be the same join block.")
    }
    Found(
      ours,
      operators.collect { case OurGroups(groups) => groups },
      operators.contains(Sparks),
      batch
    )
  }

  /** As `read`, for the batch that a query on this checkpoint plans first: the last one that was
    * begun, or the one after it if that is committed.
    */
  def ofNextBatch(session: SparkSession, checkpoint: String): Found = {
    val folder = new CheckpointFolder(session, new Path(checkpoint))
    val (begun, committed) = (folder.begun, folder.committed)
    val next = begun.fold(0L)(n => if (committed.contains(n)) n + 1 else n)
    found(new OperatorMetadata(session, folder.state, next, begun.getOrElse(0)), next)
  }

  private val OurNames = Set(StateFormat.OperatorName, GroupFormat.OperatorName)

  /** The greatest size of metadata that is read into memory. No metadata of an operator is as
    * large.
    */
  final private val MaxBytes = 64 << 20

  /** What an operator of a checkpoint is: a block or groups of ours, stateful and Spark's, or one
    * without state.
    */
  sealed trait Operator
  final case class Ours(block: Recorded) extends Operator
  final case class OurGroups(groups: RecordedGroups) extends Operator
  case object Sparks extends Operator
  case object Stateless extends Operator
}

/** Reads the metadata of operators, as a batch finds them.
  *
  * @param begun the last batch in the offset log: Spark's reader accepts none beyond it
  */
final private class OperatorMetadata(session: SparkSession, state: Path, batch: Long, begun: Long) {
  import OperatorMetadata._

  private val files = new CheckpointFiles(session, state)

  /** The folders of operators, by their numbers. */
  def operators: Seq[Path] =
    files.names(state).filter(name => Try(name.toLong).isSuccess).sortBy(_.toLong).map(new Path(state, _))

  /** Which operator it is, by its files.
    * {{{
    * metadata of version 2               what they say
    * metadata of version 1               Spark's
    * no metadata, the first batch        no operator with state, so far
    * no metadata, but schema files       unreadable: metadata are lost
    * none of these                       Spark's
    * }}}
    */
  def read(operator: Path): Operator = {
    val metadata = written(operator)
    if (metadata.nonEmpty) ofVersion2(operator, metadata)
    else if (files.exists(new Path(operator, "_metadata/metadata"))) Sparks
    else if (batch == 0) Stateless
    else if (files.exists(new Path(operator, "_stateSchema")))
      unreadable(s"The metadata of operator ${operator.getName} is missing, but its schema files are there.")
    else Sparks
  }

  /** The metadata files of version 2 up to the batch, ascending, each with its size: a name is the
    * batch that wrote it.
    */
  private def written(operator: Path): Seq[(String, Long)] =
    files.sizes(OperatorRecord.folder(operator))
      .filter { case (name, _) => Try(name.toLong).toOption.exists(_ <= batch) }
      .sortBy(_._1.toLong)

  /** The operator that metadata of version 2 describe. Metadata that cannot be read are an error,
    * unless they name an operator of Spark's.
    *
    * @param metadata names and sizes of its files, ascending and not empty
    */
  private def ofVersion2(operator: Path, metadata: Seq[(String, Long)]): Operator = {
    metadata.map(_._2).find(_ > MaxBytes).foreach { bytes =>
      unreadable(s"The metadata of operator ${operator.getName} has $bytes bytes.")
    }
    try
      OperatorRecord.read(session, operator, begun) match {
        case Some(record) if record.name == StateFormat.OperatorName =>
          val spec = StateFormat.fromJson(record.properties, state.getParent.toString)
          if (record.operator.toString != operator.getName)
            unreadable(s"The metadata of operator ${operator.getName} is that of operator ${record.operator}.")
          Ours(Recorded(spec, record.operator, record.partitions))
        case Some(record) if record.name == GroupFormat.OperatorName =>
          val shape = GroupFormat.fromJson(record.properties, state.getParent.toString)
          OurGroups(RecordedGroups(shape, record.operator, record.partitions))
        case _ => Sparks
      }
    catch {
      case mismatch: JoinlessAnalysisException => throw mismatch
      case NonFatal(_) if namesAnother(operator, metadata.last._1) => Sparks
      case NonFatal(e) => unreadable(s"The metadata of operator ${operator.getName} cannot be read: ${firstLine(e)}.")
      case _: StackOverflowError => unreadable(s"The metadata of operator ${operator.getName} is nested too deep.")
    }
  }

  /** Whether the text of the metadata, even if it is truncated or corrupt, names the operator as
    * one of Spark's.
    */
  private def namesAnother(operator: Path, newest: String): Boolean = Try {
    val text = new String(files.read(new Path(OperatorRecord.folder(operator), newest), MaxBytes), UTF_8)
    "\"operatorName\":\"([^\"]+)\"".r.findFirstMatchIn(text).exists(name => !OperatorMetadata.OurNames(name.group(1)))
  }.getOrElse(false)

  /** The first line of an error's message, or else its class. */
  private def firstLine(e: Throwable): String =
    Option(e.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(e.getClass.getSimpleName)

  /** Throws the error of a checkpoint that cannot be read. */
  def unreadable(what: String): Nothing =
    throw JoinlessErrors.stateMismatch(Mismatch.Unreadable, state.getParent.toString, what)
}
