package io.joinless.spark.exec.cells

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.Blocks
import io.joinless.spark.spec.{BlockSpec, InputKind, LifetimeSpec, TimeSpec}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{DataType, LongType, TimestampType}
import org.scalatest.funsuite.AnyFunSuite

/** Rows of changelogs that are removed by a delete or by the time, whichever is first: the emitted
  * changes add up to the join of the present rows, whatever is first, through restarts and batches
  * that are rolled back.
  *
  * Rows are (key, second); they expire five seconds after that.
  */
class ExpiringChangelogSpec extends AnyFunSuite {
  import ExpiringChangelogSpec._

  for (negatives <- Seq(false, true))
    test(
      s"inserts, deletes and the end of one row's time, in every order${if (negatives) "; deletes may arrive first"
        else ""}"
    ) {
      var refused = 0
      for (events <- everyOrder(if (sys.env.contains("JOINLESS_SLIDING_VIEWS")) 6 else 4)) {
        val cell = new Cell(negatives, new Random(events.hashCode))
        cell.batch(Seq(0, 1).flatMap(r => Seq.fill(2)(Change(r, 1, 100, 1)))) // matches
        try
          for ((event, i) <- events.zipWithIndex) event match {
            case Insert => cell.batch(Seq(Change(0, 1, 10, 1)))
            case Delete => cell.batch(Seq(Change(0, 1, 10, -1)))
            case Others => cell.batch(Seq(Change(0, 1, 20 + i, 1))) // which may take the id of a deleted row
            case Time => cell.time(15); cell.batch(Nil)
            case TimeOfAll => cell.time(110); cell.batch(Nil)
            case Restart => cell.restart()
          }
        catch {
          case e: SparkThrowable if e.getCondition == "JOINLESS_DELETE_OF_ABSENT_ROW" && !negatives && cell.lacksRow =>
            refused += 1
        }
      }
      val _ = assert((refused == 0) == negatives)
    }

  test("random changes: all that is there is in wheels, and little else") {
    for (seed <- 0L until 60L) {
      val random = new Random(seed)
      val cell = new Cell(negatives = random.nextBoolean(), random)
      for (second <- 0 until 120) {
        cell.time(second)
        cell.batch(cell.randomChanges(second))
        if (random.nextInt(10) == 0) cell.restart()
      }
      cell.time(1000)
      cell.batch(Nil)
      assert(cell.isEmpty, s"seed $seed")
    }
  }

  test(
    "steps per row are flat over three sizes of windows, where rows expire in the order in which they were inserted"
  ) {
    val steps = for (window <- Seq(60, 240, 960)) yield {
      val cluster = new CellCluster(spec(window))
      val random = new Random(1)
      def play(seconds: Range): Int = seconds.by(3).map { second =>
        cluster.watermark = 1000L * (second - 3)
        val rows = Seq.fill(24)((random.nextInt(2), random.nextInt(8 * window), second - random.nextInt(3)))
        val scans = Seq(0, 1).map { r =>
          Seq(r) -> rows.filter(_._1 == r).map { case (_, key, at) => Change(r, key, at, 1).scanned }
        }
        cluster.batch(scans)
        rows.size
      }.sum
      play(0 until 3 * window)
      val before = cluster.steps
      val rows = play(3 * window until 5 * window)
      (cluster.steps - before).toDouble / rows
    }
    info(s"steps per row: $steps")
    assert(steps.max <= 1.1 * steps.min + 0.05, steps.toString)
  }

  test("rows that are inserted and deleted again and again take no memory") {
    val cell = new Cell(negatives = false, new Random(1), often = false)
    cell.batch(Seq.fill(3)(Change(1, 1, 1000000, 1)))
    def most(times: Int): Long = (0 until times).map { _ =>
      for (sign <- Seq(1, -1)) cell.batch((0 until 200).map(i => Change(0, 1, 500000 + i, sign)))
      cell.bytes
    }.max
    val (few, many) = (most(20), most(400))
    assert(many <= 1.1 * few, s"$few, then $many bytes")
  }
}

private object ExpiringChangelogSpec {
  sealed private trait Event
  private case object Insert extends Event
  private case object Delete extends Event
  private case object Others extends Event
  private case object Time extends Event
  private case object TimeOfAll extends Event
  private case object Restart extends Event

  private def everyOrder(events: Int): Iterator[Seq[Event]] =
    if (events == 0) Iterator(Nil)
    else
      for (rest <- everyOrder(events - 1); first <- Seq(Insert, Delete, Others, Time, TimeOfAll, Restart).iterator)
        yield first +: rest

  /** @param relation 0 or 1 */
  final private case class Change(relation: Int, key: Int, second: Int, weight: Int) {
    def row: (Int, Int) = (key, second)
    def scanned: UnsafeRow = Blocks.row(types :+ LongType, key.toLong, 1000000L * second, weight.toLong)
  }

  private val types: Seq[DataType] = Seq(LongType, TimestampType)
  private val Lasts = 5

  /** @param lasts seconds */
  private def spec(lasts: Int): BlockSpec = Blocks.star(2).shaped { shape =>
    shape.copy(
      inputs = shape.inputs.map { input =>
        input.copy(
          columns = input.columns.zip(types).map { case (c, t) => c.copy(dataType = t) },
          kind = InputKind.ExpiringChangelog
        )
      },
      relations =
        shape.relations.map(_.copy(lifetime = Some(LifetimeSpec(IndexedSeq(TimeSpec(1, 1000000L * lasts))))))
    )
  }

  /** A cell, with the rows that it should have.
    *
    * @param often whether some batches are rolled back
    */
  final private class Cell(negatives: Boolean, random: Random, often: Boolean = true) {
    private[this] val cluster = new CellCluster(spec(Lasts), negatives)
    private[this] val counts = Seq.fill(2)(mutable.Map.empty[(Int, Int), Long].withDefaultValue(0L))
    private[this] val emitted = mutable.Map.empty[Seq[Long], Long].withDefaultValue(0L)
    private[this] var now = -1000

    def time(second: Int): Unit = if (second > now) {
      now = second
      cluster.watermark = 1000L * second
      for (rows <- counts) rows.filterInPlace((row, _) => isThere(row._2))
    }

    private def isThere(second: Int): Boolean = second + Lasts > now

    def batch(changes: Seq[Change]): Unit = {
      val scans = Seq(0, 1).map { r =>
        Seq(r) -> changes.filter(_.relation == r).map(_.scanned)
      }
      for (c <- changes if isThere(c.second)) counts(c.relation)(c.row) += c.weight
      if (often && !lacksRow && random.nextInt(3) == 0) cluster.rehearse(scans, most = random.nextInt(3))
      for ((row, weight) <- cluster.batch(scans).flatten) emitted(valuesOf(row)) += weight
      emitted.filterInPlace((_, copies) => copies != 0)
      check()
    }

    def restart(): Unit = cluster.rebuild(random.shuffle(_))

    /** Whether a delete has no row. */
    def lacksRow: Boolean = !negatives && counts.exists(_.values.exists(_ < 0))

    def isEmpty: Boolean = cluster.rowsStored == 0 && cluster.entries == 0 && emitted.isEmpty

    def bytes: Long = cluster.bytes

    def randomChanges(second: Int): Seq[Change] = {
      val inserts = Seq.fill(random.nextInt(4))(
        Change(
          random.nextInt(2),
          random.nextInt(3),
          second - random.nextInt(8) + random.nextInt(4),
          1 + random.nextInt(2)
        )
      )
      val deletes = for {
        relation <- Seq(0, 1)
        (row, count) <- counts(relation).toSeq
        if (negatives || count > 0) && random.nextInt(4) == 0
      } yield Change(relation, row._1, row._2, if (negatives) -2 else -1)
      random.shuffle(inserts ++ deletes)
    }

    private def valuesOf(row: UnsafeRow): Seq[Long] = (0 until 4).map(row.getLong)

    private def check(): Unit = {
      val expected = for {
        (a, n) <- counts(0).toSeq if n > 0
        (b, m) <- counts(1).toSeq if m > 0 && a._1 == b._1
      } yield Seq(a._1.toLong, 1000000L * a._2, b._1.toLong, 1000000L * b._2) -> n * m
      val _ = assert(emitted.toMap == expected.toMap)
    }
  }
}
