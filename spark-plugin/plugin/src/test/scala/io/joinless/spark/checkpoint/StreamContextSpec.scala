package io.joinless.spark.checkpoint

import scala.collection.mutable

import io.joinless.spark.spec.NodeId
import io.joinless.spark.{SharedSpark, Specs, TestFolders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{DataFrame, Encoders, SparkSession}
import org.scalatest.funsuite.AnyFunSuite

/** Calls from inside a batch: `foreachBatch` runs on the stream's thread. The rules are off, so
  * that there are no other calls.
  */
class StreamContextSpec extends AnyFunSuite with SharedSpark {

  private def inBatches(add: Seq[Int]*)(look: (SparkSession, Long) => Any): Unit =
    withConf("spark.joinless.enabled" -> "false") {
      val stream = MemoryStream[Int](spark)(Encoders.scalaInt)
      val query = stream
        .toDF()
        .writeStream
        .option("checkpointLocation", TestFolders.create("cp").toString)
        .foreachBatch((df: DataFrame, batch: Long) => { val _ = look(df.sparkSession, batch) })
        .start()
      try
        add.foreach { rows =>
          stream.addData(rows)
          query.processAllAvailable()
        }
      finally query.stop()
    }

  test("outside a stream there is no query") {
    assert(StreamContext.current(spark).isEmpty)
    assert(StreamContext.runState(spark) == RunState.NoQuery)
    StreamContext.decide(spark, Map(NodeId(0) -> Specs.threeHops.shape))
    assert(StreamContext.recorded(spark, NodeId(0)).isEmpty)
  }

  test("inside a batch the running execution is found, and its counter is drawn from") {
    val seen = mutable.Buffer.empty[(Long, Long, Long)]
    inBatches(Seq(1), Seq(2)) { (session, batch) =>
      val planning = StreamContext.current(session).get
      val (info, next) = (planning.nextStateInfo(), planning.nextStateInfo())
      assert(next.operatorId == info.operatorId + 1)
      assert(info.storeVersion == batch)
      assert(info.queryRunId == planning.run)
      assert(StreamContext.inspecting(StreamContext.runState(session)) == RunState.NoQuery)
      seen += ((batch, planning.batch, info.numPartitions.toLong))
    }
    assert(seen == Seq((0, 0, 2), (1, 1, 2)))
  }

  test("a new query is fresh until its first batch is decided; then the answer is frozen, shares included") {
    val states = mutable.Buffer.empty[RunState]
    val other = Specs.threeHops.shape.copy(residuals = IndexedSeq.empty)
    inBatches(Seq(1), Seq(2), Seq(3)) { (session, batch) =>
      states += StreamContext.runState(session)
      StreamContext.decide(session, Map(NodeId(0) -> other))
      assert(StreamContext.recorded(session, NodeId(0)).isEmpty)
      if (batch == 1) StreamContext.complete(session, Specs.threeHops)
      assert(StreamContext.earlierSpec(session, NodeId(0)) == Option.when(batch > 0)(Specs.threeHops))
    }
    assert(
      states == Seq(
        RunState.Fresh,
        RunState.Decided(Map(NodeId(0) -> other), sparkOperators = false),
        RunState.Decided(Map(NodeId(0) -> Specs.threeHops.shape), sparkOperators = false)
      )
    )
  }

  test("no block was ours: that is frozen too") {
    val states = mutable.Buffer.empty[RunState]
    inBatches(Seq(1), Seq(2)) { (session, _) =>
      states += StreamContext.runState(session)
      StreamContext.decide(session, Map.empty)
    }
    assert(states == Seq(RunState.Fresh, RunState.Decided(Map.empty, sparkOperators = false)))
  }
}
