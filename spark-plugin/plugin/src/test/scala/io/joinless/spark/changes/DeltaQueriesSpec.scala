package io.joinless.spark.changes

import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.api._
import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.exec.JoinFreeExec
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.RunningQuery
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException}
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, classic}
import org.scalatest.funsuite.AnyFunSuite

/** The positions that changes may have in a query: several of them, next to joins that Spark runs,
  * behind views, over a restart.
  */
class DeltaQueriesSpec extends AnyFunSuite with SharedSpark {
  import DeltaQueriesSpec._

  private val session = spark.asInstanceOf[classic.SparkSession]

  /** Streams `e` of edges and `f` of changes of edges, and the rows that a query over them has
    * written.
    */
  final private class Graph {
    val edges = MemoryStream[Edge](edge, session)
    val changes = MemoryStream[Change](change, session)
    private val checkpoint = TestFolders.create("deltas").resolve("cp").toString
    private val name = s"deltas_${checkpoint.hashCode.toHexString}"

    def views(): Unit = {
      edges.toDF().toDF("src", "dst").createOrReplaceTempView("e")
      changes.toDF().toDF("_change_type", "src", "dst").changelog().createOrReplaceTempView("f")
    }

    /** Runs `query` until `body` has ended; returns the rows that it has written, sorted. */
    def run(query: => DataFrame, mode: String = "append")(body: => Any): Seq[String] = {
      views()
      var rows = Seq.empty[String]
      val write: (org.apache.spark.sql.Dataset[org.apache.spark.sql.Row], Long) => Unit = (batch, _) =>
        rows ++= batch.collect().map(_.toString)
      running = query.writeStream.outputMode(mode).option("checkpointLocation", checkpoint).queryName(name)
        .foreachBatch(write).start()
      try {
        val _ = body
        running.processAllAvailable()
      } finally running.stop()
      rows.sorted
    }

    var running: StreamingQuery = null
  }

  private val pairs = "SELECT a.src AS x, b.dst AS y FROM f a JOIN f b ON a.dst = b.src"
  private val hops = "SELECT a.src AS x, c.dst AS y FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  private def operators(query: StreamingQuery): Seq[String] =
    query.recentProgress.last.stateOperators.map(_.operatorName).toSeq

  test("two results and their changes in one query") {
    val g = new Graph
    val emitted =
      g.run(spark.sql(pairs).incrementalEnumerate().union(spark.sql("SELECT src, dst FROM f").incrementalEnumerate())) {
        g.changes.addData(("insert", 1, 2), ("insert", 2, 3))
        g.running.processAllAvailable()
        g.changes.addData(("delete", 2, 3))
      }
    assert(emitted == Seq(
      "[1,2,insert]",
      "[1,3,delete]",
      "[1,3,insert]",
      "[2,3,delete]",
      "[2,3,insert]"
    ))
    assert(operators(g.running) == Seq("joinFree", "joinFree"))
  }

  test("changes beside a join of Spark's and a plain block of ours, over a restart") {
    val g = new Graph
    def query = spark.sql(hops).withColumnRenamed("x", "p")
      .union(spark.sql("SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src AND a.src <> b.src"))
      .selectExpr("p", "y", "'row' AS emitted")
      .union(spark.sql(pairs).incrementalEnumerate())
    val first = g.run(query) {
      g.edges.addData((1, 2), (2, 3))
      g.changes.addData(("insert", 1, 2), ("insert", 2, 3))
    }
    assert(first == Seq("[1,3,insert]", "[1,3,row]"))
    val second = g.run(query) {
      g.edges.addData((3, 4))
      g.changes.addData(("delete", 1, 2))
    }
    assert(second == Seq("[1,3,delete]", "[1,4,row]", "[2,4,row]"))
    assert(operators(g.running).sorted == Seq("joinFree", "joinFree", "symmetricHashJoin"))
  }

  test("settings that decide on new blocks do not count after a restart") {
    val g = new Graph
    val crossed = "SELECT a.src AS x, b.dst AS y FROM f a JOIN f b ON a.dst = b.src CROSS JOIN e c"
    def query = spark.sql(crossed).incrementalEnumerate()
    val settings = Seq("spark.joinless.maxRelations" -> "2", "spark.joinless.crossProducts.enabled" -> "false")
    g.run(query) {
      g.edges.addData((1, 2))
      g.changes.addData(("insert", 1, 2), ("insert", 2, 3))
    }
    withConf(settings: _*) {
      assert(g.run(query)(g.changes.addData(("delete", 2, 3))) == Seq("[1,3,delete]"))
    }
    for (setting <- settings) withConf(setting) {
      val refused = intercept[JoinlessAnalysisException](new Graph().run(query)(()))
      assert(refused.getCondition == "JOINLESS_NOT_REWRITTEN", setting)
    }
  }

  test("filters, projections, views and update mode behind the changes") {
    val g = new Graph
    def query = {
      spark.sql(pairs).incrementalEnumerate("weight").createOrReplaceTempView("emitted")
      spark.sql("SELECT x + y AS s, _weight * 10 AS w FROM emitted WHERE x < 5")
    }
    val emitted = g.run(query, "update")(g.changes.addData(("insert", 1, 2), ("insert", 2, 3), ("insert", 7, 2)))
    assert(emitted == Seq("[4,10]"))
  }

  test("a native aggregate over the changes counts them as rows") {
    val g = new Graph
    val emitted = g.run(spark.sql(pairs).incrementalEnumerate().groupBy("_change_type").count(), "update") {
      g.changes.addData(("insert", 1, 2), ("insert", 2, 3), ("insert", 2, 4))
      g.running.processAllAvailable()
      g.changes.addData(("delete", 1, 2))
    }
    assert(emitted == Seq("[delete,2]", "[insert,2]"))
  }

  test("append-only streams have changes too: all of them insertions") {
    val g = new Graph
    val query = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"
    val rows = g.run(spark.sql(query).incrementalEnumerate())(g.edges.addData((1, 2), (2, 3), (1, 2)))
    assert(rows == Seq("[1,3,insert]", "[1,3,insert]"))
    val h = new Graph
    val weights = h.run(spark.sql(query).incrementalEnumerate("weight"))(h.edges.addData((1, 2), (2, 3), (1, 2)))
    assert(weights == Seq("[1,3,2]"))
  }

  test("recovery_ a plain query goes on as one of changes, and back: the state is the same") {
    val g = new Graph
    assert(g.run(spark.sql(hops))(g.edges.addData((1, 2), (2, 3), (3, 4))) == Seq("[1,4]"))
    assert(g.run(spark.sql(hops).incrementalEnumerate())(g.edges.addData((4, 5))) == Seq("[2,5,insert]"))
    assert(g.run(spark.sql(hops))(g.edges.addData((5, 6))) == Seq("[3,6]"))
    assert(RunningQuery.plan(g.running).exists(_.isInstanceOf[JoinFreeExec]))
  }

  test("recovery_ a checkpoint without the join whose changes are requested is refused by name") {
    val g = new Graph
    val joined = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"
    assert(g.run(spark.sql(joined))(g.edges.addData((1, 2), (2, 3))) == Seq("[1,3]"))
    val error = intercept[JoinlessAnalysisException](g.run(spark.sql(joined).incrementalEnumerate())(()))
    assert(error.getCondition == "JOINLESS_STATE_MISMATCH.QUERY")
  }

  test("a relation cannot turn from appended to changed under its checkpoint") {
    val g = new Graph
    val e = "SELECT a.src, b.dst FROM e a JOIN f b ON a.dst = b.src"
    assert(g.run(spark.sql(e).incrementalEnumerate()) {
      g.edges.addData((1, 2))
      g.changes.addData(("insert", 2, 3))
    } == Seq("[1,3,insert]"))
    val error = intercept[JoinlessAnalysisException] {
      g.run(spark.sql(e.replace("FROM e", "FROM f")).incrementalEnumerate())(())
    }
    assert(error.getCondition.startsWith("JOINLESS_STATE_MISMATCH"))
  }

  test("DataFrame self-joins, aliases and columns of one name") {
    val g = new Graph
    val emitted = g.run {
      val f = spark.table("f")
      f.as("a").join(f.as("b"), org.apache.spark.sql.functions.expr("a.dst = b.src")).incrementalEnumerate()
    }(g.changes.addData(("insert", 1, 2), ("insert", 2, 3)))
    assert(emitted == Seq("[1,2,2,3,insert]"))
  }

  test("weights are read from any integer column") {
    val g = new Graph
    val emitted = g.run {
      g.edges.toDF().toDF("n", "k").weightedChangelog("n").createOrReplaceTempView("w")
      spark.sql("SELECT w.k FROM w JOIN f ON w.k = f.src").incrementalEnumerate("weight")
    } {
      g.edges.addData((3, 7), (-1, 7), (0, 7))
      g.changes.addData(("insert", 7, 1))
    }
    assert(emitted == Seq("[7,2]"))
  }

  test("counts beyond 64 bits are an error") {
    val g = new Graph
    val error = intercept[StreamingQueryException] {
      g.run {
        val weighted = g.edges.toDF().toDF("n", "k").selectExpr("n * 4611686018427387904 AS n", "k")
        weighted.weightedChangelog("n").createOrReplaceTempView("w")
        spark.sql("SELECT a.k FROM w a JOIN w b ON a.k = b.k").incrementalEnumerate("weight")
      }(g.edges.addData((1, 7)))
    }
    assert(error.getMessage.contains("JOINLESS_WEIGHT_OVERFLOW"))
  }

  test("explain and why_not see what is requested") {
    val g = new Graph
    g.views()
    val text = PythonApi.explainText(spark.sql(pairs).incrementalEnumerate())
    assert(
      text.contains("rows are inserted and deleted in: a, b") && text.contains("O(1) per change, whatever the changes"),
      text
    )
    assert(
      text.contains(
        "changes: in _change_type, equal rows added up over all cells, because the result does not project"
      ),
      text
    )
    val withVia = PythonApi.explainText(spark.sql(pairs.replace("AS y", "AS y, b.src AS via")).incrementalEnumerate())
    assert(withVia.contains("changes: in _change_type, emitted as they are found"), withVia)
    val odd = PythonApi.explainText(
      spark.sql(pairs.replace("b.dst AS y", "a.dst, (a.src + b.dst) % 2 AS odd")).incrementalEnumerate()
    )
    assert(odd.contains("changes: in _change_type, equal rows added up within each cell"), odd)
    val united = PythonApi.explainText(spark.sql(s"$pairs UNION ALL SELECT src, dst FROM f").incrementalEnumerate())
    assert(!united.contains("added up within each cell") && !united.contains("handed out"), united)
    assert(
      PythonApi.whyNotJson(spark.sql("SELECT src FROM f TABLESAMPLE (10 PERCENT)").incrementalEnumerate()).contains(
        "UNSUPPORTED"
      )
    )
    assert(DeltaForm.of("weight").contains(DeltaForm.Weight))
  }
}

object DeltaQueriesSpec {
  private type Edge = (Int, Int)
  private type Change = (String, Int, Int)
  private val edge: Encoder[Edge] = Encoders.product[Edge]
  private val change: Encoder[Change] = Encoders.product[Change]
}
