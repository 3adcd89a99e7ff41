package io.joinless.spark.changes

import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.exec.DeltaRowsExec
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.RunningQuery
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException}
import org.apache.spark.sql.{Encoder, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

/** Changes in, net changes out, through a running query. */
class ChangesSpec extends AnyFunSuite with SharedSpark {
  import ChangesSpec._

  /** Two streams of changes, `orders (id, customer)` and `customers (customer, city)`, and a query
    * over them.
    */
  final private class Streams(sql: String, form: DeltaForm = DeltaForm.ChangeType) {
    private val session = spark.asInstanceOf[classic.SparkSession]
    val orders = MemoryStream[Change](changes, session)
    val customers = MemoryStream[Change](changes, session)
    private val checkpoint = TestFolders.create("changes").resolve("cp").toString
    @volatile private var taken = Map.empty[Long, Seq[String]]
    private var returned = Set.empty[Long]
    private var query: StreamingQuery = start()

    private def start(): StreamingQuery = {
      Changes.changelog(orders.toDF().toDF("_change_type", "id", "customer"), None, None).createOrReplaceTempView(
        "orders"
      )
      val second = customers.toDF().toDF("_change_type", "customer", "city")
      Changes.changelog(second, None, None).createOrReplaceTempView("customers")
      val write: (org.apache.spark.sql.Dataset[Row], Long) => Unit = (rows, batch) =>
        taken += batch -> rows.collect().toSeq.map(_.toString).sorted
      Changes.deltas(spark.sql(sql), form).writeStream.option("checkpointLocation", checkpoint).foreachBatch(write)
        .start()
    }

    /** The changes that the added ones cause, as texts in order. */
    def next(): Seq[String] = nextBatches().flatten

    /** The same, batch by batch: the query may begin one before all is added. */
    def nextBatches(): Seq[Seq[String]] = {
      query.processAllAvailable()
      val fresh = taken -- returned
      returned ++= fresh.keySet
      fresh.toSeq.sortBy(_._1).map(_._2)
    }

    def restart(): Unit = { stop(); query = start() }

    def stop(): Unit = query.stop()

    def running: StreamingQuery = query

    /** The condition by which the query fails. */
    def failure(): String = {
      val error = intercept[StreamingQueryException](query.processAllAvailable())
      Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null)
        .collect { case e: SparkThrowable if e.getCondition.startsWith("JOINLESS") => e.getCondition }.next()
    }
  }

  private def streams(sql: String, form: DeltaForm = DeltaForm.ChangeType)(body: Streams => Any): Unit = {
    val s = new Streams(sql, form)
    try { val _ = body(s) }
    finally s.stop()
  }

  private val joined = "SELECT o.id, o.customer, c.city FROM orders o JOIN customers c ON o.customer = c.customer"

  test("the operator reports the memory that it holds, and the rows that were deleted") {
    streams(joined) { s =>
      def held = {
        val operator = s.running.recentProgress.filter(_.stateOperators.nonEmpty).last.stateOperators.head
        assert(operator.memoryUsedBytes > operator.customMetrics.get("arenaBytes"))
        (operator.numRowsTotal, operator.numRowsRemoved)
      }
      s.orders.addData(("insert", 1, 10), ("insert", 1, 10), ("insert", 2, 20))
      s.customers.addData(("insert", 10, 100))
      s.next()
      assert(held == ((3L, 0L)))
      s.orders.addData(("delete", 1, 10), ("delete", 2, 20))
      s.customers.addData(("update_before", 10, 100), ("update_after", 10, 101))
      s.next()
      assert(held == ((2L, 2L)))
      s.orders.addData(("delete", 1, 10), ("insert", 3, 10), ("delete", 3, 10))
      s.next()
      assert(held == ((1L, 1L)))
    }
  }

  test("rows are inserted, changed and deleted") {
    streams(joined) { s =>
      s.orders.addData(("insert", 1, 10), ("INSERT", 2, 20))
      s.customers.addData(("insert", 10, 100))
      assert(s.next() == Seq("[1,10,100,insert]"))
      s.customers.addData(("update_preimage", 10, 100), ("update_postimage", 10, 101), ("insert", 20, 200))
      assert(s.next() == Seq("[1,10,100,delete]", "[1,10,101,insert]", "[2,20,200,insert]"))
      s.orders.addData(("delete", 1, 10))
      assert(s.next() == Seq("[1,10,101,delete]"))
    }
  }

  test("what cancels out within a batch is never emitted") {
    streams(joined) { s =>
      s.orders.addData(("insert", 1, 10))
      s.customers.addData(("insert", 10, 100))
      assert(s.next().size == 1)
      s.customers.addData(("delete", 10, 100), ("insert", 10, 100)) // carried over
      s.orders.addData(("delete", 5, 10), ("insert", 5, 10)) // the delete is first
      assert(s.next().isEmpty)
    }
  }

  test("duplicates count, in rows and in weights") {
    streams(joined) { s =>
      s.orders.addData(("insert", 1, 10), ("insert", 1, 10))
      s.customers.addData(("insert", 10, 100), ("insert", 10, 100))
      assert(s.next() == Seq.fill(4)("[1,10,100,insert]"))
      s.orders.addData(("delete", 1, 10))
      assert(s.next() == Seq.fill(2)("[1,10,100,delete]"))
    }
    streams(joined, DeltaForm.Weight) { s =>
      s.orders.addData(("insert", 1, 10), ("insert", 1, 10))
      s.customers.addData(("insert", 10, 100), ("insert", 10, 100))
      assert(s.next() == Seq("[1,10,100,4]"))
      s.orders.addData(("delete", 1, 10))
      assert(s.next() == Seq("[1,10,100,-2]"))
    }
  }

  test("changes that are equal behind a projection add up") {
    streams("SELECT o.id % 2 AS odd FROM orders o JOIN customers c ON o.customer = c.customer") { s =>
      s.customers.addData(("insert", 10, 100))
      s.orders.addData(("insert", 1, 10))
      assert(s.next() == Seq("[1,insert]"))
      s.orders.addData(("delete", 1, 10), ("insert", 3, 10), ("insert", 2, 10))
      assert(s.next() == Seq("[0,insert]"))
    }
  }

  test("changes of several cells add up where the result does not project by what cells were chosen") {
    withConf("spark.sql.shuffle.partitions" -> "4") {
      for (form <- DeltaForm.all.filter(_ != DeltaForm.OnClose))
        streams("SELECT c.city FROM orders o JOIN customers c ON o.customer = c.customer", form) { s =>
          s.customers.addData((1 to 8).map(i => ("insert", i, 100)): _*)
          s.orders.addData((1 to 4).map(i => ("insert", i, i)): _*)
          assert(s.next() == (if (form == DeltaForm.Weight) Seq("[100,4]") else Seq.fill(4)("[100,insert]")))
          s.orders.addData((1 to 4).flatMap(i => Seq(("delete", i, i), ("insert", i, i + 4))): _*)
          assert(s.next().isEmpty)
          s.orders.addData((1 to 4).map(i => ("delete", i, i + 4)) :+ (("insert", 9, 1)): _*)
          assert(s.next() == (if (form == DeltaForm.Weight) Seq("[100,-3]") else Seq.fill(3)("[100,delete]")))
          val stage = RunningQuery.plan(s.running).collectFirst { case rows: DeltaRowsExec => rows }.get
          assert(stage.child.isInstanceOf[ShuffleExchangeExec], stage.treeString)
        }
    }
  }

  test("no stage adds up where cells cannot agree") {
    withConf("spark.sql.shuffle.partitions" -> "4") {
      streams(joined) { s =>
        s.orders.addData(("insert", 1, 10))
        s.customers.addData(("insert", 10, 100))
        assert(s.next().size == 1)
        val plan = RunningQuery.plan(s.running)
        assert(plan.collect { case e: ShuffleExchangeExec => e }.size == 1, plan.treeString)
      }
    }
  }

  test("the net changes of one relation are emitted") {
    streams("SELECT customer FROM orders WHERE id < 10") { s =>
      s.orders.addData(("insert", 1, 10), ("insert", 2, 10), ("insert", 20, 10))
      assert(s.next() == Seq.fill(2)("[10,insert]"))
      s.orders.addData(("delete", 1, 10), ("insert", 3, 10), ("delete", 20, 10))
      assert(s.next().isEmpty)
    }
  }

  test("a self-join of a changelog changes in all its roles at once") {
    streams("SELECT a.id AS x, b.id AS y FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id") { s =>
      s.orders.addData(("insert", 1, 10), ("insert", 2, 10), ("insert", 3, 10))
      assert(s.next() == Seq("[1,2,insert]", "[1,3,insert]", "[2,3,insert]"))
      s.orders.addData(("delete", 2, 10), ("insert", 4, 10))
      assert(s.next() == Seq("[1,2,delete]", "[1,4,insert]", "[2,3,delete]", "[3,4,insert]"))
    }
  }

  test("recovery_ a restart between delete and re-insert") {
    streams(joined) { s =>
      s.orders.addData(("insert", 1, 10), ("insert", 1, 10))
      s.customers.addData(("insert", 10, 100))
      assert(s.next().size == 2)
      s.customers.addData(("delete", 10, 100))
      assert(s.next() == Seq.fill(2)("[1,10,100,delete]"))
      s.restart()
      s.orders.addData(("delete", 1, 10)) // first: a batch may begin before the second line
      s.customers.addData(("insert", 10, 100))
      assert(s.next() == Seq("[1,10,100,insert]"))
    }
  }

  test("a delete of an absent row fails by name, and nothing of its batch is kept") {
    streams(joined) { s =>
      s.orders.addData(("insert", 1, 10))
      s.customers.addData(("insert", 10, 100))
      assert(s.next().size == 1)
      s.orders.addData(("insert", 2, 10), ("delete", 7, 10))
      assert(s.failure() == "JOINLESS_DELETE_OF_ABSENT_ROW")
      withConf("spark.joinless.deleteOfAbsentRow" -> "negative") {
        s.restart()
        assert(s.next() == Seq("[2,10,100,insert]"))
        s.orders.addData(("insert", 7, 10))
        assert(s.next().isEmpty)
        s.orders.addData(("insert", 7, 10))
        assert(s.next() == Seq("[7,10,100,insert]"))
      }
    }
  }

  test("a change type that is none is an error with its value and its source") {
    for (value <- Seq("upsert", null)) streams(joined) { s =>
      s.orders.addData((value, 1, 10))
      assert(s.failure() == "JOINLESS_UNKNOWN_CHANGE_TYPE")
    }
  }

  test("differential_ random changes on four cells, in one batch and in many") {
    val random = new scala.util.Random(3)
    val sql = "SELECT o.id % 3 AS id, c.city FROM orders o JOIN customers c ON o.customer = c.customer"
    withConf("spark.sql.shuffle.partitions" -> "4") {
      val batches = Iterator.iterate((Seq.empty[(Int, Int, Int)], Vector.empty[(Int, Int, Int)])) { case (_, present) =>
        val deleted = random.shuffle(present).take(random.nextInt(present.size + 1) / 2)
        val inserted = Seq.fill(random.nextInt(30))((random.nextInt(2), random.nextInt(6), random.nextInt(6)))
        (deleted.map { case (t, a, b) => (t + 2, a, b) } ++ inserted, present.diff(deleted) ++ inserted)
      }.slice(1, 13).toSeq
      def add(s: Streams, changes: Seq[(Int, Int, Int)]): Unit = for ((target, a, b) <- random.shuffle(changes)) {
        val stream = if (target % 2 == 0) s.orders else s.customers
        val _ = stream.addData((if (target < 2) "insert" else "delete", a, b))
      }
      def sum(emitted: Seq[String]): Map[String, Int] = emitted
        .map(row => row.take(row.lastIndexOf(',')) -> (if (row.endsWith("insert]")) 1 else -1))
        .groupMapReduce(_._1)(_._2)(_ + _).filter(_._2 != 0)
      val result = batches.last._2
      val expected = (for ((0, id, k) <- result; (1, l, city) <- result if k == l) yield s"[${id % 3},$city")
        .groupMapReduce(identity)(_ => 1)(_ + _)
      streams(sql) { s =>
        val emitted = batches.flatMap { case (changes, _) => add(s, changes); s.nextBatches() }
        emitted.foreach { batch =>
          val (inserted, deleted) = batch.partition(_.endsWith("insert]"))
          assert(inserted.map(_.replace("insert", "")).intersect(deleted.map(_.replace("delete", ""))).isEmpty)
        }
        assert(sum(emitted.flatten) == expected)
      }
      streams(sql) { s =>
        batches.foreach { case (changes, _) => add(s, changes) }
        assert(sum(s.next()) == expected)
      }
    }
  }
}

object ChangesSpec {
  private type Change = (String, Int, Int)
  private val changes: Encoder[Change] = Encoders.product[Change]
}
