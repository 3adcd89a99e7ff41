package io.joinless.spark.start

import io.joinless.spark.TestFolders
import io.joinless.spark.plans.nodes.{IdleSource, JoinFreeJoin}
import io.joinless.spark.rules.StreamingPlans
import org.apache.spark.sql.joinless.RunningQuery

import org.apache.spark.sql.{Row, SQLContext}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Running queries whose sources have data in some batches only: one spec, one shape, Spark's rows.
  */
class IdleSourcesSpec extends AnyFunSuite with StreamingPlans {

  private val names = Seq("m1", "m2", "m3")

  private def batches(sql: String): Assertion = {
    val session = spark
    implicit val context: SQLContext = session.sqlContext
    import session.implicits._
    val sources = names.map(_ => MemoryStream[(Option[Int], Option[Int])])
    sources.zip(names).foreach { case (s, name) => s.toDF().toDF("src", "dst").createOrReplaceTempView(name) }
    val directory = TestFolders.create("idle").toString
    val all = names.map(_ => Seq.newBuilder[(Option[Int], Option[Int])])
    val random = new scala.util.Random(3)
    def vertex() = Option.when(random.nextInt(8) > 0)(random.nextInt(5))
    def run(body: StreamingQuery => Unit): Unit = {
      val query = spark
        .sql(sql)
        .writeStream
        .format("parquet")
        .option("checkpointLocation", directory + "/cp")
        .start(directory + "/out")
      try body(query)
      finally query.stop()
    }
    def feed(query: StreamingQuery, busy: Int): Unit = {
      sources.indices.filter(i => (busy >> i & 1) == 1).foreach { i =>
        val rows = Seq.fill(4)((vertex(), vertex()))
        all(i) ++= rows
        sources(i).addData(rows)
      }
      query.processAllAvailable()
    }
    // Every set of busy sources, in an order that starts and restarts with few.
    val specs = Seq.newBuilder[JoinFreeJoin]
    Seq(Seq(1, 2, 4, 3), Seq(6, 5, 7)).foreach { order =>
      run { query =>
        order.foreach { busy =>
          feed(query, busy)
          val execution = RunningQuery.execution(query).lastExecution
          assert(execution.normalized.exists(_.isInstanceOf[IdleSource]) == (busy != 7))
          assert(!execution.optimizedPlan.exists(_.isInstanceOf[IdleSource]))
          specs ++= blocks(execution.optimizedPlan)
        }
      }
    }
    assert(specs.result().map(_.shape).distinct.size == 1)
    assert(specs.result().size == 7)

    names.zip(all).foreach { case (name, rows) =>
      rows.result().toDF("src", "dst").createOrReplaceTempView(name)
    }
    def sorted(rows: Array[Row]) = rows.map(_.toString).toSeq.sorted
    val expected = sorted(spark.sql(sql).collect())
    assert(sorted(spark.read.parquet(directory + "/out").collect()) == expected)
    assert(expected.nonEmpty)
  }

  /** Runs and restarts a join of literals as keys whose sources have data in turns. Returns the
    * rows that it wrote, in order of batches.
    */
  private def literals(confs: (String, String)*): Seq[String] = withConf(confs: _*) {
    val session = spark
    implicit val context: SQLContext = session.sqlContext
    import session.implicits._
    val (a, b) = (MemoryStream[Int], MemoryStream[Int])
    val checkpoint = TestFolders.create("literals").toString
    val written = Seq.newBuilder[String]
    def run(left: String, right: String): Unit = {
      a.toDF().selectExpr(s"'$left' AS k", "value AS l").createOrReplaceTempView("la")
      b.toDF().selectExpr(s"'$right' AS k", "value AS r").createOrReplaceTempView("lb")
      val write: (org.apache.spark.sql.DataFrame, Long) => Unit =
        (rows, _) => written ++= rows.collect().map(_.toString)
      val query = spark.sql("SELECT k, l, r FROM la JOIN lb USING (k)").writeStream.foreachBatch(write)
        .option("checkpointLocation", checkpoint).start()
      try
        for (source <- Seq(a, b)) {
          source.addData(left.last.toInt)
          query.processAllAvailable()
          val plan = RunningQuery.execution(query).lastExecution.normalized
          assert(!plan.exists(_.isInstanceOf[IdleSource]))
        }
      finally query.stop()
    }
    run("k1", "k2")
    run("k2", "k1")
    written.result()
  }

  test("recovery_ a join that stays with Spark gives Spark's rows, whatever its sources have") {
    val native = literals("spark.joinless.enabled" -> "false")
    assert(native.nonEmpty)
    assert(literals() == native)
  }

  test("recovery_ columns") {
    batches("SELECT a.src, b.src AS via, c.dst FROM m1 a JOIN m2 b ON a.dst = b.src JOIN m3 c ON b.dst = c.src")
  }

  test("recovery_ constants and computed columns in leaves, which Spark folds into empty sources") {
    batches(
      """SELECT a.src, b.one, c.twice, b.one + c.twice AS s FROM m1 a
        |JOIN (SELECT src + 0 AS src, dst, 1 AS one FROM m2 WHERE dst >= 0) b ON a.dst = b.src
        |JOIN (SELECT CAST(src AS BIGINT) AS src, dst * 2 AS twice FROM m3) c ON b.dst = c.src AND c.twice < 7 + b.one""".stripMargin
    )
  }

  test("recovery_ a union with an idle side, null-safe keys") {
    batches(
      """SELECT a.src, b.dst, c.dst AS last FROM (SELECT * FROM m1 UNION ALL SELECT * FROM m2) a
        |JOIN m2 b ON a.dst <=> b.src JOIN m3 c ON b.dst = c.src""".stripMargin
    )
  }

  test("recovery_ a constant that cuts the block") {
    batches(
      "SELECT a.src, b.dst, c.dst AS last FROM m1 a JOIN m2 b ON a.dst = b.src JOIN m3 c ON b.dst = c.src WHERE b.src = 2"
    )
  }
}
