package org.apache.spark.sql.joinless

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.{OffsetSeqBase, OffsetSeqMetadataBase}
import org.apache.spark.sql.execution.streaming.state._

/** Reads parts of a checkpoint that versions of Spark have in different places. */
private object CheckpointReaders {

  /** Time, watermark and settings of a batch. */
  def metadata(offsets: OffsetSeqBase): Option[OffsetSeqMetadataBase] = offsets.metadataOpt

  /** The record in force of an operator, given by its folder, as of a batch; None if there is none
    * of version 2.
    */
  def operator(folder: Path, hadoop: Configuration, batch: Long): Option[OperatorStateMetadata] =
    OperatorStateMetadataReader.createReader(folder, hadoop, 2, batch, createMetadataDir = false).read()
}
