package io.joinless.spark.source

import io.joinless.spark.TestFolders
import io.joinless.spark.api._
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, classic}
import org.scalatest.funsuite.AnyFunSuite

/** Stored rows, and results over changelogs: each present row as often as its multiplicity. */
class InputsSpec extends AnyFunSuite with StoredResults {
  import InputsSpec._

  private val from = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  for (partitions <- Seq(1, 4, 6))
    test(s"oracle_ every row of a relation is read once, whatever the cells: $partitions partitions") {
      withConf("spark.sql.shuffle.partitions" -> partitions.toString) {
        val files = ran(s"SELECT a.src, b.dst, c.dst AS last $from WHERE a.src > 3")
        val all = read(files, "inputs" -> "true")
        assert(all.schema.toDDL == "relation STRING NOT NULL,count BIGINT NOT NULL,row STRING")
        val expected = files.expected("SELECT 'a', 1L, src, dst FROM e WHERE src > 3 AND dst IS NOT NULL") ++
          files.expected("SELECT 'b', 1L, src, dst FROM e WHERE src IS NOT NULL AND dst IS NOT NULL") ++
          files.expected("SELECT 'c', 1L, src, dst FROM e WHERE src IS NOT NULL")
        val parsed = all.selectExpr("relation", "count", "from_json(row, 'src BIGINT, dst BIGINT') AS r")
        assert(rows(parsed.select("relation", "count", "r.*")) == expected.sorted)
        val one = read(files, "inputs" -> "b")
        assert(
          rows(one.select("relation", "count", "row.src", "row.dst")) == expected.filter(_.startsWith("[b")).sorted
        )
        assert(one.limit(3).count() == 3)
      }
    }

  test("oracle_ a changelog's rows count as often as they are there, in stored rows and in the result") {
    withConf("spark.sql.shuffle.partitions" -> "4") {
      val session = spark.asInstanceOf[classic.SparkSession]
      val checkpoint = TestFolders.create("inputs").resolve("cp").toString
      val orders = MemoryStream[Change](changes, session)
      val customers = MemoryStream[(Int, Int)](pairs, session)
      orders.toDF().toDF("_change_type", "id", "customer").changelog().createOrReplaceTempView("orders")
      customers.toDF().toDF("customer", "city").createOrReplaceTempView("customers")
      orders.addData(("insert", 1, 10), ("insert", 1, 10), ("insert", 2, 10), ("insert", 3, 20))
      customers.addData((10, 100), (10, 100), (20, 200), (20, 1))
      val query = spark.sql("SELECT o.id + 0 AS id, c.city FROM orders o JOIN customers c ON o.customer = c.customer " +
        "WHERE o.id < c.city").incrementalEnumerate().writeStream.format("noop")
        .option("checkpointLocation", checkpoint).start()
      try {
        query.processAllAvailable()
        orders.addData(("delete", 2, 10), ("insert", 1, 10))
        query.processAllAvailable()
      } finally query.stop()
      def stored(options: (String, String)*): DataFrame =
        spark.read.format("joinless").options(options.toMap).load(checkpoint)
      assert(rows(stored()) == (Seq.fill(6)("[1,100]") :+ "[3,200]"))
      assert(rows(stored("batchId" -> "0")) == (Seq.fill(4)("[1,100]") ++ Seq.fill(2)("[2,100]") :+ "[3,200]").sorted)
      assert(rows(stored().where("id = 1 AND city > 5").limit(5)) == Seq.fill(5)("[1,100]"))
      assert(stored().where("id = 2").count() == 0)
      assert(rows(stored("inputs" -> "o").select("count", "row.*")) == Seq("[1,3,20]", "[3,1,10]"))
      assert(rows(stored("inputs" -> "true").where("relation = 'c'").select("count", "row")).size == 4)
    }
  }
}

object InputsSpec {
  type Change = (String, Int, Int)

  implicit val changes: Encoder[Change] = Encoders.tuple(Encoders.STRING, Encoders.scalaInt, Encoders.scalaInt)
  implicit val pairs: Encoder[(Int, Int)] = Encoders.tuple(Encoders.scalaInt, Encoders.scalaInt)
}
