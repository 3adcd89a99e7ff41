package io.joinless.spark.exec.operator

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import io.joinless.spark.exec.JoinFreeExec
import io.joinless.spark.exec.groups.GroupsExec
import io.joinless.spark.api._
import io.joinless.spark.batches.{MicroBatches, PlayedQuery}
import io.joinless.spark.SharedSpark
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.BatchForms
import org.apache.spark.sql.{Encoder, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

class InTasksSpec extends AnyFunSuite with SharedSpark {
  implicit private val edges: Encoder[(Int, Int)] = Encoders.tuple(Encoders.scalaInt, Encoders.scalaInt)

  private def written(o: AnyRef): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new ObjectOutputStream(bytes)
    out.writeObject(o)
    out.close()
    bytes.toByteArray
  }

  private def sent[A <: SparkPlan](operator: A): A =
    new ObjectInputStream(new ByteArrayInputStream(written(new InTasks(operator)))).readObject()
      .asInstanceOf[InTasks[A]].operator

  test("tasks get operators without the plans around them") {
    val stream = MemoryStream[(Int, Int)](edges, spark.asInstanceOf[classic.SparkSession])
    stream.toDF().toDF("src", "dst").createOrReplaceTempView("e")
    val query = spark.sql("SELECT a.src + 1, COUNT(*), MAX(b.dst) AS n FROM e a JOIN e b ON a.dst = b.src GROUP BY 1")
    val changes = query.incrementalEnumerate("weight")
    val batches = new MicroBatches(spark, changes, PlayedQuery.newCheckpoint(), BatchForms.scans(spark))
    val executed =
      try batches.playRows(Map(stream -> Seq(Row(1, 2), Row(2, 3)))).head.executed
      finally batches.close()
    val operators = executed.collect {
      case block: JoinFreeExec => block -> sent(block)
      case groups: GroupsExec => groups -> sent(groups)
    }
    assert(operators.size == 2)
    for ((operator, alone) <- operators) {
      assert(alone.children == Seq(null) && alone.output == operator.output)
      assert(written(new InTasks(operator)).length < written(operator).length * 2 / 3)
    }
  }
}
