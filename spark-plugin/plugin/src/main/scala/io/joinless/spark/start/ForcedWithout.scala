package io.joinless.spark.start

import io.joinless.spark.inspect.Inspection
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.streaming.WriteToStream

/** Refuses to start a streaming query under `spark.joinless.mode=force` in a session without the
  * extension.
  */
final class ForcedWithout(session: SparkSession) extends StartRule {

  override protected def started(write: WriteToStream): WriteToStream = {
    Inspection.checkForced(session)
    write
  }
}
