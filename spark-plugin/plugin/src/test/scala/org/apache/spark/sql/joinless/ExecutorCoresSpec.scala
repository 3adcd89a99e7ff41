package org.apache.spark.sql.joinless

import io.joinless.spark.{EdgeFiles, SharedSpark}
import io.joinless.spark.api.PythonApi
import io.joinless.spark.checkpoint.CommittedState
import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

class ExecutorCoresSpec extends AnyFunSuite with SharedSpark {

  private def requested(confs: (String, String)*): Int =
    ExecutorCores.requested(new SparkConf(loadDefaults = false).setAll(confs))

  test("the cores of a local session are those of its master") {
    assert(ExecutorCores.known(spark) == 2 && ExecutorCores.settled(spark) == 2)
  }

  test("executors that were requested by number count before they are there") {
    assert(requested() == 0)
    assert(requested("spark.executor.instances" -> "5") == 5)
    assert(requested("spark.executor.instances" -> "5", "spark.executor.cores" -> "4") == 20)
    assert(requested("spark.executor.instances" -> "5", "spark.executor.cores" -> "4", "spark.task.cpus" -> "3") == 5)
    val dynamic = Seq("spark.dynamicAllocation.enabled" -> "true", "spark.executor.cores" -> "4")
    assert(requested("spark.executor.instances" -> "2147483647", "spark.executor.cores" -> "4") == Int.MaxValue)
    assert(requested(dynamic: _*) == 0)
    assert(requested(dynamic :+ "spark.dynamicAllocation.minExecutors" -> "2": _*) == 8)
    assert(requested(dynamic :+ "spark.dynamicAllocation.initialExecutors" -> "3": _*) == 12)
  }

  test("where the load allocates all executors, none is waited for") {
    def expected(confs: (String, String)*) =
      ExecutorCores.expected(new SparkConf(loadDefaults = false).setAll(confs))
    val dynamic = Seq("spark.dynamicAllocation.enabled" -> "true", "spark.executor.cores" -> "4")
    assert(expected() == 1, "those of a standalone cluster come by themselves")
    assert(expected(dynamic: _*) == 0)
    assert(expected(dynamic :+ "spark.dynamicAllocation.initialExecutors" -> "3": _*) == 12)
  }

  test("by default a chain has at most one cell for each core, and explain and the checkpoint say so") {
    withConf("spark.sql.shuffle.partitions" -> "200", "spark.joinless.placement.maxCells" -> "0") {
      val files = new EdgeFiles(spark, "e")
      files.addRandom(1)
      val paths = files.streaming(
        "SELECT a.src, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
      )
      assert(
        PythonApi.explainText(paths).contains("cells: 2 (shares a.dst 2), at most 2 rows stored per input row")
      )
      val _ = files.run(paths)
      val recorded = CommittedState(spark, files.path("cp"), Some(0)).operators.ours.map(_.spec.cells)
      assert(recorded == Seq(2))
    }
  }
}
