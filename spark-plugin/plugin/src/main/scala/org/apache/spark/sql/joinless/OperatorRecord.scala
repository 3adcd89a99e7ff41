package org.apache.spark.sql.joinless

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.OperatorStateMetadataV2

/** Spark's metadata of version 2 of a stateful operator.
  *
  * @param partitions number of its stores
  * @param properties the text that the operator itself had recorded
  */
final case class OperatorRecord(name: String, operator: Long, partitions: Int, properties: String)

/** Reads the record. Uses `OperatorStateMetadataReader`, internal to Spark. */
object OperatorRecord {

  /** The folder of the metadata of an operator, which has a file per batch that wrote any. */
  def folder(operator: Path): Path = OperatorStateMetadataV2.metadataDirPath(operator)

  /** The record in force; None if there is none of version 2.
    *
    * @param operator the operator's folder
    * @param batch the last batch in the offset log: Spark's reader accepts none beyond it
    */
  def read(session: SparkSession, operator: Path, batch: Long): Option[OperatorRecord] = {
    val hadoop = classicOf(session).sessionState.newHadoopConf()
    CheckpointReaders.operator(operator, hadoop, batch).collect {
      case OperatorStateMetadataV2(info, stores, properties) =>
        OperatorRecord(info.operatorName, info.operatorId, stores.headOption.fold(0)(_.numPartitions), properties)
    }
  }
}
