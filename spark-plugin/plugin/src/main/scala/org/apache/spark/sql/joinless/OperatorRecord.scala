package org.apache.spark.sql.joinless

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.{OperatorStateMetadataReader, OperatorStateMetadataV2}

/** What Spark's metadata of version 2 says of a stateful operator.
  *
  * @param partitions how many stores it has
  * @param properties the text that the operator itself had recorded
  */
final case class OperatorRecord(name: String, operator: Long, partitions: Int, properties: String)

/** Reads it. Uses `OperatorStateMetadataReader`, internal to Spark; checked on 4.2.0. */
object OperatorRecord {

  /** Where the metadata of an operator lies, a file per batch that wrote any. */
  def folder(operator: Path): Path = OperatorStateMetadataV2.metadataDirPath(operator)

  /** The record in force; None where there is none of version 2.
    *
    * @param operator the operator's folder
    * @param batch the last batch in the offset log: Spark's reader takes none beyond it
    */
  def read(session: SparkSession, operator: Path, batch: Long): Option[OperatorRecord] = {
    val hadoop = classicOf(session).sessionState.newHadoopConf()
    OperatorStateMetadataReader.createReader(operator, hadoop, 2, batch, createMetadataDir = false).read().collect {
      case OperatorStateMetadataV2(info, stores, properties) =>
        OperatorRecord(info.operatorName, info.operatorId, stores.headOption.fold(0)(_.numPartitions), properties)
    }
  }
}
