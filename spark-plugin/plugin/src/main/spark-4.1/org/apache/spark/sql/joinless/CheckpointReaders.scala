package org.apache.spark.sql.joinless

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.{OffsetSeq, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.state._

/** Reads parts of a checkpoint that versions of Spark have in different places. Spark 4.1 makes
  * folders that are missing, so what does not exist is not read.
  */
private object CheckpointReaders {

  /** Time, watermark and settings of a batch. */
  def metadata(offsets: OffsetSeq): Option[OffsetSeqMetadata] = offsets.metadata

  /** The record in force of an operator, given by its folder, as of a batch; None if there is none
    * of version 2.
    */
  def operator(folder: Path, hadoop: Configuration, batch: Long): Option[OperatorStateMetadata] =
    if (!folder.getFileSystem(hadoop).exists(OperatorStateMetadataV2.metadataDirPath(folder))) None
    else OperatorStateMetadataReader.createReader(folder, hadoop, 2, batch).read()
}
