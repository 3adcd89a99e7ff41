package io.joinless.spark

import scala.jdk.CollectionConverters._

import io.joinless.spark.exec.JoinFreeExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.joinless.RunningQuery
import org.scalatest.funsuite.AnyFunSuite

/** Whole queries: files in, rows out, checked against batch SQL over the same files. */
class FirstQuerySpec extends AnyFunSuite with SharedSpark {

  private val threeHops =
    "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  private def written(files: EdgeFiles): Seq[String] =
    EdgeFiles.sorted(spark.read.parquet(files.path("out")).collect().toSeq)

  test("a three-hop self-join over files equals batch SQL, over a restart too") {
    val files = new EdgeFiles(spark, "e")
    (1 to 3).foreach(files.addRandom(_))
    val query = files.run(files.streaming(threeHops))
    assert(RunningQuery.plan(query).collect { case exec: JoinFreeExec => exec }.size == 1)
    assert(query.recentProgress.map(_.stateOperators.map(_.operatorName).toSeq).forall(_ == Seq("joinFree")))
    assert(query.recentProgress.filter(_.numInputRows > 0).map(_.numInputRows).toSeq == Seq(60, 60, 60))
    assert(written(files) == files.expected(threeHops))
    assert(written(files).nonEmpty)

    (4 to 5).foreach(files.addRandom(_))
    val again = files.run(files.streaming(threeHops))
    assert(again.runId != query.runId)
    assert(again.recentProgress.head.stateOperators.head.customMetrics.asScala("rebuilds") == 2)
    assert(written(files) == files.expected(threeHops))
  }

  test(
    "the operator names the partitions that it needs, as Spark checks of stateful operators; its exchange is the only one"
  ) {
    for (shares <- Seq("", "b.src=1,c.src=1")) withConf("spark.joinless.placement.shares" -> shares) {
      val files = new EdgeFiles(spark, "e")
      files.addRandom(1)
      val plan = RunningQuery.plan(files.run(files.streaming(threeHops)))
      val join = plan.collectFirst { case exec: JoinFreeExec => exec }.get
      assert(join.requiredChildDistribution.map(_.requiredNumPartitions) == Seq(join.stateInfo.map(_.numPartitions)))
      assert(join.requiredChildDistribution.forall(join.child.outputPartitioning.satisfies))
      assert(plan.collect { case exchange: ShuffleExchangeLike => exchange } == Seq(join.child))
      assert(join.spec.cells == (if (shares.isEmpty) 2 else 1))
    }
  }

  test("the plan text shows the views by their columns") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    val text = RunningQuery.plan(files.run(files.streaming(threeHops))).treeString
    assert(text.contains("JoinFree"), text)
    assert(text.contains("projection view V_p(c) [src]"), text)
  }
}
