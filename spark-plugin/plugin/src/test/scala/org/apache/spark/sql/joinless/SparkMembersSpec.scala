package org.apache.spark.sql.joinless

import io.joinless.spark.{EdgeFiles, SharedSpark}
import io.joinless.spark.api.PythonApi
import io.joinless.spark.errors.JoinlessAnalysisException
import org.apache.spark.sql.joinless.SparkMembers.Member
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.funsuite.AnyFunSuite

class SparkMembersSpec extends AnyFunSuite with SharedSpark {

  private val threeHops =
    "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  test("this Spark has all of them") {
    for (member <- SparkMembers.all) assert(member.exists, member)
    assert(SparkMembers.missing.isEmpty)
  }

  test("one that is not there is named, be it the class or the member") {
    val there = SparkMembers.all.head
    assert(SparkMembers.probe(Seq(there, there.copy(name = "nextThing"))).contains("IncrementalExecution.nextThing"))
    assert(SparkMembers.probe(Seq(Member("org.apache.spark.Moved$", "create"))).contains("Moved.create"))
  }

  private def lacking(body: => Any): Unit = {
    SparkMembers.pretended = Some("IncrementalExecution.thing")
    try { val _ = body }
    finally SparkMembers.pretended = None
  }

  private def run(files: EdgeFiles, checkpoint: String): StreamingQuery = {
    val query = files.streaming(threeHops).writeStream.format("parquet")
      .option("checkpointLocation", files.path(checkpoint)).trigger(Trigger.AvailableNow()).start(files.path("out"))
    query.awaitTermination()
    query
  }

  private def operators(query: StreamingQuery): Set[String] =
    query.lastProgress.stateOperators.map(_.operatorName).toSet

  test("without one, new queries stay with Spark and say why") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    lacking {
      assert(operators(run(files, "cp")) == Set("symmetricHashJoin"))
      assert(EdgeFiles.sorted(spark.read.parquet(files.path("out")).collect().toSeq) == files.expected(threeHops))
      val reasons = PythonApi.whyNotJson(files.streaming(threeHops))
      assert(reasons.contains("UNSUPPORTED_SPARK") && reasons.contains("IncrementalExecution.thing"))
      val e = intercept[JoinlessAnalysisException] {
        val deltas = PythonApi.deltas(files.streaming(threeHops), "weight")
        deltas.writeStream.option("checkpointLocation", files.path("deltas")).format("noop").start()
      }
      assert(e.getMessage.contains("IncrementalExecution.thing"))
    }
  }

  test("without one, a checkpoint with state of ours is refused as it is, and goes on where all are there") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    assert(operators(run(files, "cp")) == Set("joinFree"))
    files.addRandom(2)
    lacking {
      val e = intercept[JoinlessAnalysisException](run(files, "cp"))
      assert(e.getCondition == "JOINLESS_SPARK_VERSION" && e.getMessage.contains("IncrementalExecution.thing"))
    }
    assert(operators(run(files, "cp")) == Set("joinFree"))
    assert(EdgeFiles.sorted(spark.read.parquet(files.path("out")).collect().toSeq) == files.expected(threeHops))
  }
}
