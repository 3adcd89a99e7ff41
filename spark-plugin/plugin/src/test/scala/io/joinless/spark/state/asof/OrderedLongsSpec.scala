package io.joinless.spark.state.asof

import scala.collection.immutable.ArraySeq
import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import org.scalatest.funsuite.AnyFunSuite

/** An ordered set in a store without an order: neighbours as in a sorted set, entries that follow
  * from the values alone, and few of them read per search.
  */
class OrderedLongsSpec extends AnyFunSuite {
  import OrderedLongsSpec._

  /** Values of several spreads, so that all levels occur. */
  private val spreads: Seq[(String, Random => Long)] = Seq(
    "dense" -> (_.nextInt(200).toLong - 100),
    "all longs" -> (_.nextLong()),
    "times" -> (rng => 1_780_000_000_000_000L + rng.nextInt(100_000) * 1_000_000L),
    "few bits" -> (rng => (1L << rng.nextInt(64)) ^ (if (rng.nextBoolean()) 0L else 1L << rng.nextInt(64))),
    "ends" -> (rng => if (rng.nextBoolean()) Long.MinValue + rng.nextInt(70) else Long.MaxValue - rng.nextInt(70))
  )

  for ((name, value) <- spreads) test(s"neighbours are those of a sorted set: $name") {
    val seed = Seeds.of(name)
    val rng = new Random(seed)
    for (_ <- 0 until 30) {
      val nodes = new InMemory
      val (set, expected) = (new OrderedLongs(nodes), mutable.TreeSet.empty[Long])
      for (step <- 0 until 150) {
        val v = if (expected.nonEmpty && rng.nextInt(3) == 0) expected.toIndexedSeq(rng.nextInt(expected.size))
        else value(rng)
        if (rng.nextInt(5) < (if (step < 100) 3 else 1)) { set.add(v); expected += v }
        else { set.remove(v); expected -= v }
        for (at <- Seq(v, value(rng), Long.MinValue, Long.MaxValue)) {
          assert(set.floor(at) == (if (expected(at)) Some(at) else expected.maxBefore(at)), s"seed $seed")
          assert(set.ceiling(at) == expected.minAfter(at), s"seed $seed")
          assert(set.higher(at) == (if (at == Long.MaxValue) None else expected.minAfter(at + 1)), s"seed $seed")
        }
        assert(set.iterator.toSeq == expected.toSeq, s"seed $seed")
      }
      val built = new InMemory
      val again = new OrderedLongs(built)
      rng.shuffle(expected.toSeq).foreach(again.add)
      assert(nodes.entries == built.entries, s"seed $seed: entries depend on what was removed")
      expected.toSeq.foreach(set.remove)
      assert(nodes.entries.isEmpty, s"seed $seed")
    }
  }

  test("a search among 200,000 times reads few entries, and a change writes two at most") {
    val nodes = new InMemory
    val set = new OrderedLongs(nodes)
    for (i <- 0 until 200_000) set.add(1_780_000_000_000_000L + i * 1_000_003L)
    assert(nodes.entries.size < 30_000)
    val rng = new Random(5)
    nodes.reset()
    var most = 0
    for (_ <- 0 until 1000) {
      nodes.reset()
      set.floor(1_780_000_000_000_000L + rng.nextLong(200_000L * 1_000_003L))
      most = most.max(nodes.reads)
    }
    assert(most <= 12, s"$most entries")
    nodes.reset()
    for (i <- 0 until 1000) {
      val before = nodes.writes
      set.add(1_780_000_000_000_500L + i * 197_000_003L)
      assert(nodes.writes - before <= 2)
    }
  }
}

object OrderedLongsSpec {

  final private class InMemory extends OrderedLongs.Nodes {
    val entries = mutable.Map.empty[(Int, Long), ArraySeq[Byte]]
    var (reads, writes) = (0, 0)

    def reset(): Unit = { reads = 0; writes = 0 }

    override def get(level: Int, prefix: Long): Array[Byte] = {
      reads += 1
      entries.get((level, prefix)).fold[Array[Byte]](null)(_.toArray)
    }

    override def put(level: Int, prefix: Long, bytes: Array[Byte]): Unit = {
      writes += 1
      entries((level, prefix)) = ArraySeq.unsafeWrapArray(bytes)
    }

    override def remove(level: Int, prefix: Long): Unit = {
      writes += 1
      entries -= ((level, prefix))
    }
  }
}
