package io.joinless.spark.exec.cells

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.Blocks._
import io.joinless.spark.spec.{BlockSpec, InputKind}
import io.joinless.spark.state.log.ChangeLog
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.LongType
import org.scalatest.funsuite.AnyFunSuite

/** Rows are inserted and deleted continually: the size of the log stays proportional to the number
  * of present rows, and writes to the number of changes.
  */
class ChurnSpec extends AnyFunSuite {

  /** Facts (key, payload) that are replaced, one dimension row per key. */
  final private class Churn(spec: BlockSpec, facts: Int, keys: Int, random: Random) {
    private val cluster = new CellCluster(spec)
    private val present = mutable.ArrayBuffer.empty[(Long, Long, Long)] // key, payload, copies
    private var payloads = 0L
    private val result = mutable.Map.empty[Seq[Long], Long]
    private var entriesOwn = 0L
    private var entriesPut = 0L

    private def fact(row: (Long, Long, Long), sign: Long): UnsafeRow =
      this.row(0, row._1, row._2, sign * row._3)

    private def row(input: Int, key: Long, payload: Long, weight: Long): UnsafeRow = {
      val values = Seq(key, payload) ++ (if (spec.inputs(input).retractable) Seq(weight) else Nil)
      io.joinless.spark.Blocks.row(values.map(_ => LongType), values: _*)
    }

    private def fresh(key: Long): (Long, Long, Long) = {
      payloads += 1
      (key, payloads, if (random.nextInt(10) == 0) 2L else 1L)
    }

    private def play(scans: (Seq[Int], Seq[UnsafeRow])*): Unit =
      for ((row, weight) <- cluster.batch(scans).flatten) {
        val values = (0 until 4).map(row.getLong)
        val sum = result.getOrElse(values, 0L) + weight
        if (sum == 0) result -= values else result(values) = sum
      }

    def load(): Unit = {
      present ++= Seq.fill(facts)(fresh(random.nextInt(keys).toLong))
      play(
        Seq(0) -> present.map(fact(_, 1)).toSeq,
        Seq(1) -> (0 until keys).map(k => row(1, k.toLong, -k.toLong, 1))
      )
    }

    /** Replaces `count` facts, half of them under the same key.
      *
      * @return entries written, over entries of own changes
      */
    def replace(count: Int): Double = {
      val changed = Seq.fill(count)(random.nextInt(present.size)).distinct.flatMap { i =>
        val before = present(i)
        present(i) = fresh(if (random.nextBoolean()) before._1 else random.nextInt(keys).toLong)
        Seq(fact(before, -1), fact(present(i), 1))
      }
      play(Seq(0) -> random.shuffle(changed))
      val put = cluster.stores.map(_.entriesPut).sum
      entriesOwn += changed.size
      entriesPut += put
      assert(cluster.entries <= 2.2 * cluster.live)
      assert(cluster.logRows == cluster.entries && cluster.live == facts + keys)
      put.toDouble / changed.size
    }

    def writeAmplification: Double = entriesPut.toDouble / entriesOwn

    def check(): Unit = {
      val expected = present.map { case (key, payload, copies) => Seq(key, payload, key, -key) -> copies }.toMap
      val _ = assert(result == expected)
    }

    def restart(): Unit = cluster.rebuild(random.shuffle(_))

    def blocks: Int = cluster.stores.map(_.blocks.size).sum

    def end(): Unit = {
      play(Seq(0) -> present.map(fact(_, -1)).toSeq)
      assert(result.isEmpty)
      if (spec.inputs(1).retractable) {
        play(Seq(1) -> (0 until keys).map(k => row(1, k.toLong, -k.toLong, -1)))
        val _ = assert(blocks == 0)
      }
    }
  }

  private val both = { val s = star(2); s.shaped(_.copy(inputs = s.inputs.map(_.copy(kind = InputKind.Changelog)))) }
  private val oneAppended =
    both.shaped(_.copy(inputs = both.inputs.updated(1, both.inputs(1).copy(kind = InputKind.Appended))))

  for ((name, spec) <- Seq("changelogs" -> both, "a changelog and an append-only input" -> oneAppended))
    test(s"oracle_ a thousand batches that replace 1 % of the rows each, with restarts: $name") {
      val random = new Random(11)
      val churn = new Churn(spec, facts = 2000, keys = 300, random)
      churn.load()
      val written = for (_ <- 1 to 1000) yield {
        if (random.nextInt(50) == 0) churn.restart()
        val amplification = churn.replace(20)
        churn.check()
        amplification
      }
      info(f"entries written per own entry: ${churn.writeAmplification}%.2f, at most ${written.max}%.1f in a batch")
      assert(churn.writeAmplification <= 2)
      assert(written.max <= 6)
      churn.end()
    }

  test("oracle_ batches that replace 1 % of many rows") {
    val random = new Random(12)
    val churn = new Churn(both, facts = 20000, keys = 500, random)
    churn.load()
    val written = for (batch <- 1 to 300) yield {
      if (random.nextInt(50) == 0) churn.restart()
      val amplification = churn.replace(200)
      if (batch % 50 == 0) churn.check()
      amplification
    }
    info(f"entries written per own entry: ${churn.writeAmplification}%.2f, at most ${written.max}%.1f in a batch")
    assert(written.max <= 6)
    churn.end()
  }

  test("a queue: rows are deleted in the order in which they were inserted") {
    val random = new Random(13)
    val cluster = new CellCluster(both)
    def fact(i: Long, weight: Long) = row(Seq(LongType, LongType, LongType), i % 7, i, weight)
    for (i <- 0L until 3000L) {
      val deleted = if (i >= 500) Seq(fact(i - 500, -1)) else Nil
      cluster.batch(Seq(Seq(0) -> (fact(i, 1) +: deleted)))
      assert(cluster.entries <= 2.2 * cluster.live + 2)
      if (random.nextInt(300) == 0) cluster.rebuild(random.shuffle(_))
    }
    assert(cluster.live == 500)
  }

  test("oracle_ single changes: few blocks, and what merging leaves out is not missed") {
    for (spec <- Seq(both, oneAppended)) {
      val random = new Random(14)
      val churn = new Churn(spec, facts = 50, keys = 7, random)
      churn.load()
      val blocks = for (batch <- 1 to 600) yield {
        churn.replace(1)
        if (batch % 37 == 0) churn.restart()
        if (batch % 50 == 0) churn.check()
        churn.blocks
      }
      info(
        f"at most ${blocks.max} blocks in ${spec.cells} cells, ${churn.writeAmplification}%.2f entries written per own entry"
      )
      assert(blocks.max <= 12 * spec.cells)
      churn.end()
    }
  }

  test("rows that are only inserted, one by one, leave few blocks") {
    val cluster = new CellCluster(both)
    for (i <- 0L until 3000L) cluster.batch(Seq(Seq(0) -> Seq(row(Seq(LongType, LongType, LongType), i % 7, i, 1L))))
    assert(cluster.live == 3000 && cluster.entries == 3000)
    val bytes = cluster.stores.map(_.blocks.map(_._2.getSizeInBytes).sum)
    for ((store, i) <- cluster.stores.zipWithIndex)
      assert(store.blocks.size <= 2 * bytes(i) / ChangeLog.mergedCapacity(weighted = true) + 12)
    cluster.rebuild()
  }
}
