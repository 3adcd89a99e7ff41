package io.joinless.engine.tuples

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The wheel against a sorted collection. */
class TimingWheelSpec extends AnyFunSuite {

  private def draw(random: Random, now: Long): Long = random.nextInt(6) match {
    case 0 => random.nextLong()
    case 1 => now - random.nextInt(100)
    case 2 => if (random.nextBoolean()) Long.MinValue else Long.MaxValue
    case _ => now + (random.nextLong() >>> (20 + random.nextInt(43)))
  }

  test("oracle_ ids are handed out once, when their time has passed, and the least time is known") {
    for (seed <- 0L until 300L) {
      val random = new Random(seed)
      val wheel = new TimingWheel
      val expected = mutable.TreeMap.empty[Long, List[Int]]
      var now = if (random.nextBoolean()) 0L else -(random.nextLong() >>> 1)
      for (id <- 0 until 2000) {
        val time = draw(random, now)
        wheel.put(time, id)
        expected(time) = id :: expected.getOrElse(time, Nil)
        if (random.nextInt(20) == 0) {
          // a step back has no effect: the wheel only turns forward
          val to = now + (random.nextLong() >>> (1 + random.nextInt(62))) - random.nextInt(3)
          now = if (to > now) to else now
          val out = mutable.ArrayBuffer.empty[Int]
          wheel.advance(now)(out += _)
          val due = expected.rangeTo(now).toVector
          due.foreach(entry => expected -= entry._1)
          assert(out.sorted == due.flatMap(_._2).sorted, s"seed $seed")
          assert(wheel.size == expected.values.map(_.size).sum)
        }
        assert(wheel.next == expected.headOption.fold(Long.MaxValue)(_._1), s"seed $seed")
      }
      wheel.advance(Long.MaxValue)(_ => ())
      assert(wheel.size == 0 && wheel.bytes == 0)
    }
  }

  test("oracle_ the least time of what is wanted, and nothing else is dropped") {
    for (seed <- 0L until 100L) {
      val random = new Random(seed)
      val wheel = new TimingWheel
      val wanted = mutable.TreeMap.empty[(Long, Int), Unit]
      var now = 0L
      for (id <- 0 until 1000) {
        val time = draw(random, now)
        wheel.put(time, id)
        wanted((time, id)) = ()
        if (random.nextInt(3) == 0)
          wanted -= (if (random.nextBoolean()) wanted.head._1 else wanted.keys.toSeq(random.nextInt(wanted.size)))
        val least = wheel.next((time, id) => wanted.contains((time, id)))
        assert(least == wanted.headOption.fold(Long.MaxValue)(_._1._1), s"seed $seed")
        if (random.nextInt(20) == 0) {
          now += random.nextInt(1 << random.nextInt(20))
          val out = mutable.ArrayBuffer.empty[Int]
          wheel.advance(now)(out += _)
          val due = wanted.keys.takeWhile(_._1 <= now).toVector
          due.foreach(wanted -= _)
          assert(due.map(_._2).toSet.subsetOf(out.toSet), s"seed $seed")
        }
      }
    }
  }

  test("an id is moved a few times, however many batches there are") {
    val wheel = new TimingWheel
    var handedOut = 0
    for (second <- 0 until 20000) {
      for (i <- 0 until 10) wheel.put(1000L * second + 3600000L + i, i)
      wheel.advance(1000L * second)(_ => handedOut += 1)
    }
    // of the last second that is due, one
    assert(handedOut == 10 * (19999 - 3600) + 1 && wheel.size == 200000 - handedOut)
    assert(wheel.bytes < 12 * 1.6 * wheel.size)
  }
}
