package io.joinless.spark.recovery

import org.apache.spark.TaskContext
import org.apache.spark.sql.{DataFrame, Encoders, Row}

/** Tasks that fail on purpose, after the join in the same task: armed per batch, in this JVM. */
object Faults {

  sealed trait Fault

  /** The first attempt of a partition fails before its output was read to the end: nothing was
    * committed.
    */
  final case class BeforeCommit(batch: Long, partition: Int) extends Fault

  /** The first attempt of a partition fails after its output was read to the end: the store has
    * committed.
    */
  final case class AfterCommit(batch: Long, partition: Int) extends Fault

  /** Every attempt fails, after its output was read to the end: the query fails with its offsets
    * written and the batch not committed.
    */
  final case class Always(batch: Long) extends Fault

  @volatile private var armed: Set[Fault] = Set.empty
  @volatile private var count = 0

  /** The number of attempts that failed on purpose while `body` ran. */
  def arm(faults: Fault*)(body: => Any): Int = {
    armed = faults.toSet
    count = 0
    try { val _ = body }
    finally armed = Set.empty
    count
  }

  /** Within `arm`, nothing fails any more. */
  def disarm(): Unit = armed = Set.empty

  /** The same rows, from tasks that fail if they are armed. */
  def through(df: DataFrame): DataFrame = df.mapPartitions(rows => guard(rows))(Encoders.row(df.schema))

  private def guard(rows: Iterator[Row]): Iterator[Row] = {
    val context = TaskContext.get()
    val batch = context.getLocalProperty("streaming.sql.batchId").toLong
    val first = context.attemptNumber() == 0
    if (first && armed(BeforeCommit(batch, context.partitionId()))) fail(rows.take(3).size)
    if (first && armed(AfterCommit(batch, context.partitionId())) || armed(Always(batch))) fail(rows.size)
    rows
  }

  private def fail(read: Int): Nothing = synchronized {
    count += 1
    throw new RuntimeException(s"failing on purpose after $read rows")
  }
}
