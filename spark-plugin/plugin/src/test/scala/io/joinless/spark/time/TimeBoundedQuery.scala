package io.joinless.spark.time

import java.sql.Timestamp

import scala.util.Random

/** A row of a stream: a key of the join, another one, an event time in seconds or NULL, and a
  * number of its own.
  */
final case class Event(k: Int, j: Int, second: Option[Int], v: Long) {
  def ts: Timestamp = second.map(s => new Timestamp(1000L * s)).orNull
}

/** A bound: `second(later) <= second(earlier) + most`, or `<`. */
final case class TimeBound(later: Int, earlier: Int, most: Int, strict: Boolean, text: Int) {

  def holds(rows: Int => Event): Boolean = (rows(later).second, rows(earlier).second) match {
    case (Some(l), Some(e)) => if (strict) l < e + most else l <= e + most
    case _ => false
  }

  /** One of the ways to write it. */
  def sql: String = {
    val (l, e) = (s"s$later.ts", s"s$earlier.ts")
    val op = if (strict) "<" else "<="
    text match {
      case 0 => s"$l $op $e + INTERVAL '$most' SECOND"
      case 1 => s"$e + INTERVAL '$most' SECOND ${if (strict) ">" else ">="} $l"
      case 2 => s"$l - INTERVAL '$most' SECOND $op $e"
      case 3 => s"$l - $e $op INTERVAL '$most' SECOND"
      case 4 => s"CAST($l AS BIGINT) $op CAST($e AS BIGINT) + $most"
    }
  }
}

/** A random join of streams on keys and times, with its input rows.
  *
  * @param keys pairs of streams that join on `k`; on `j`, too, if the flag is set
  * @param windows pairs of streams whose windows of ten seconds are equal
  * @param delays seconds of watermark per stream
  * @param batches input rows per batch and stream
  * @param twice the sink reads each batch twice
  */
final case class TimeBoundedQuery(
    streams: Int,
    keys: Seq[(Int, Int, Boolean)],
    bounds: Seq[TimeBound],
    windows: Seq[(Int, Int)],
    delays: IndexedSeq[Int],
    maxPolicy: Boolean,
    batches: Seq[IndexedSeq[Seq[Event]]],
    restartAfter: Set[Int],
    partitions: Int,
    rocksDb: Boolean,
    twice: Boolean
) {

  def sql: String = {
    val on = keys.map { case (a, b, both) =>
      s"s$a.k = s$b.k" + (if (both) s" AND s$a.j = s$b.j" else "")
    } ++ bounds.map(_.sql) ++ windows.map { case (a, b) => s"s$a.w = s$b.w" }
    s"SELECT ${(0 until streams).map(i => s"s$i.v AS v$i").mkString(", ")} FROM ${(0 until streams).map(i => s"s$i").mkString(", ")} " +
      s"WHERE ${on.mkString(" AND ")}"
  }

  def accepts(rows: Int => Event): Boolean =
    keys.forall { case (a, b, both) => rows(a).k == rows(b).k && (!both || rows(a).j == rows(b).j) } &&
      bounds.forall(_.holds(rows)) &&
      windows.forall { case (a, b) =>
        (rows(a).second, rows(b).second) match {
          case (Some(x), Some(y)) => Math.floorDiv(x, 10) == Math.floorDiv(y, 10)
          case _ => false
        }
      }

  /** Whether a stream outputs its event time, by which its rows are late: it does if a condition
    * names it.
    */
  def hasTime(stream: Int): Boolean =
    bounds.exists(b => b.later == stream || b.earlier == stream) || hasWindow(stream)

  def hasWindow(stream: Int): Boolean = windows.exists { case (a, b) => a == stream || b == stream }

  /** The seconds by which a row is late: its own, or the end of its window. */
  def lateness(stream: Int, second: Int): Int =
    if (hasWindow(stream)) 10 * (Math.floorDiv(second, 10) + 1) else second
}

object TimeBoundedQuery {

  def draw(seed: Long): TimeBoundedQuery = {
    val random = new Random(seed * 0x9e3779b97f4a7c15L)
    val streams = 2 + random.nextInt(4)
    // one time per stream: its own, or that of its windows
    val byWindow = random.nextInt(4) == 0
    def other(i: Int) = random.nextInt(i)
    val keys = (1 until streams).map(i => (other(i), i, random.nextInt(4) == 0))
    def bound(later: Int, earlier: Int) =
      TimeBound(later, earlier, random.nextInt(40) - 8, random.nextBoolean(), random.nextInt(5))
    val bounds =
      if (byWindow) Nil
      else
        (1 until streams).flatMap { i =>
          val a = other(i)
          random.nextInt(5) match {
            case 0 => Seq(bound(i, a))
            case 1 => Seq(bound(a, i))
            case _ => Seq(bound(i, a), bound(a, i))
          }
        }
    val windows = if (byWindow) (1 until streams).map(i => (other(i), i)).filter(_ => random.nextInt(6) > 0) else Nil
    val policy = random.nextBoolean()
    val count = 6 + random.nextInt(6)
    var number = 0L
    val batches = (0 until count).map { batch =>
      (0 until streams).map { _ =>
        val size = if (random.nextInt(4) == 0) 0 else 1 + random.nextInt(if (streams > 3) 4 else 8)
        Seq.fill(size) {
          number += 1
          val second = 100 + 12 * batch + random.nextInt(30) - (if (random.nextInt(6) == 0) 60 else 10)
          Event(
            random.nextInt(3),
            random.nextInt(2),
            Option.when(random.nextInt(25) > 0)(second + (if (random.nextInt(40) == 0) 80 else 0)),
            number
          )
        }
      }
    }
    TimeBoundedQuery(
      streams,
      keys,
      bounds,
      windows,
      IndexedSeq.fill(streams)(random.nextInt(20)),
      policy,
      batches,
      (0 until count).filter(_ => random.nextInt(5) == 0).toSet,
      partitions = if (random.nextInt(4) == 0) 3 else 1,
      rocksDb = random.nextInt(4) == 0,
      twice = random.nextInt(4) == 0
    )
  }
}
