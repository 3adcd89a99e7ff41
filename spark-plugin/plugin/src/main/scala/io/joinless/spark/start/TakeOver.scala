package io.joinless.spark.start

import io.joinless.spark.evolve.BeginWithStoredRows
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.streaming.WriteToStream

/** Records which rows a query will store, and lets it begin with those of another one, where its
  * checkpoint says so ([[BeginWithStoredRows]]). Its sources must be shared before: they are
  * numbered.
  */
final class TakeOver(session: SparkSession) extends StartRule {

  override protected def started(write: WriteToStream): WriteToStream = {
    BeginWithStoredRows(session, write.inputQuery, write.resolvedCheckpointLocation)
    write
  }
}
