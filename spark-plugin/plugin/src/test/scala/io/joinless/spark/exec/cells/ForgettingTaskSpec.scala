package io.joinless.spark.exec.cells

import scala.util.Random

import io.joinless.engine.view.{Invariants, ViewTree}
import io.joinless.spark.Blocks
import io.joinless.spark.exec.RolesAndCells
import io.joinless.spark.exec.figures.TaskMetrics
import io.joinless.spark.spec.{BlockSpec, LifetimeSpec, TimeSpec}
import io.joinless.spark.state.cells.{CellState, Undo}
import io.joinless.spark.state.log.{BlocksInMemory, ChangeLogReader}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, LongType, TimestampType}
import org.scalatest.funsuite.AnyFunSuite

/** A cell whose rows are evicted by the watermark, over many windows: it holds exactly the needed
  * rows, in memory and in its log, and a rebuild finds the same.
  *
  * Rows are (key, second); those of each relation of a star are needed for a while beyond their
  * second.
  */
class ForgettingTaskSpec extends AnyFunSuite {
  import ForgettingTaskSpec._

  test(
    "state is flat from the second window on: rows, log and memory, though rows arrive out of order and some stay for long"
  ) {
    for (seed <- 0L until 4L) {
      val cell = new Cell(star(window = 60), new Random(seed))
      val sizes = for (second <- 0 until 900 by 3) yield {
        cell.batch(rowsPerSecond = 8, second, stragglers = true)
        cell.sizes
      }
      val windows = sizes.grouped(20).toSeq
      val (second, last) = (windows(2), windows.last)
      for (
        (name, size) <- Seq[(String, Sizes => Long)](
          "rows" -> (_.rows),
          "entries" -> (_.entries),
          "bytes of the log" -> (_.logBytes),
          "memory" -> (_.bytes)
        )
      ) {
        val (before, after) = (second.map(size).max, last.map(size).max)
        assert(after <= 1.1 * before, s"seed $seed, $name: $before, then $after; ${windows.map(_.map(size).max)}")
      }
      for (s <- sizes)
        assert(s.entries <= 2 * s.rows && s.logBytes <= 2.2 * s.rows * BytesPerEntry + 8192, s"seed $seed: $s")
    }
  }

  test(
    "steps per row are flat over three sizes of windows, where rows are evicted in the order in which they were inserted"
  ) {
    val steps = for (window <- Seq(60, 240, 960)) yield {
      val cell = new Cell(star(window), new Random(1), keys = window)
      for (second <- 0 until 3 * window by 3) cell.batch(rowsPerSecond = 4, second, stragglers = false)
      val (before, rows) = (cell.steps, cell.rowsSoFar)
      for (second <- 3 * window until 5 * window by 3) cell.batch(rowsPerSecond = 4, second, stragglers = false)
      (cell.steps - before).toDouble / (cell.rowsSoFar - rows)
    }
    assert(steps.max <= 1.1 * steps.min + 0.05, steps.toString)
  }

  test("a rebuild has the same rows, log and next time, at every version") {
    for (seed <- 0L until 20L) {
      val random = new Random(seed)
      val cell = new Cell(star(window = 10 + random.nextInt(40)), random)
      for (second <- 0 until 300 by 5) {
        cell.batch(if (random.nextInt(5) == 0) 0 else random.nextInt(6), second, stragglers = random.nextBoolean())
        if (random.nextInt(4) == 0) cell.rebuild()
      }
      // no more rows: all are evicted, in memory and in the log
      cell.batch(rowsPerSecond = 0, second = 1000000, stragglers = false)
      assert(cell.sizes.rows == 0 && cell.sizes.logBytes == 0 && cell.sizes.entries == 0)
    }
  }

  test("a batch without rows that removes blocks says which one is the oldest, and is readable") {
    val cell = new Cell(star(window = 10), new Random(7))
    for (second <- 0 until 40) cell.batch(rowsPerSecond = 300, second, stragglers = false)
    for (second <- 40 until 50) {
      cell.batch(rowsPerSecond = 0, second, stragglers = false)
      cell.rebuild()
    }
    cell.batch(rowsPerSecond = 5, second = 50, stragglers = false)
    cell.rebuild()
  }
}

private object ForgettingTaskSpec {

  /** For a row of two BIGINTs: null word, two words, and the overhead of an entry. */
  val BytesPerEntry: Int = 24 + 24

  final case class Sizes(rows: Long, entries: Long, logBytes: Long, bytes: Long)

  private val types: Seq[DataType] = Seq(LongType, TimestampType)

  /** Three relations that are joined by their first column; the second one is the time. */
  def star(window: Int): BlockSpec = {
    val spec = Blocks.block(types)(Seq.fill(3)(Seq((0, 0))): _*)
    spec.shaped(shape =>
      shape.copy(relations = shape.relations.zipWithIndex.map { case (r, i) =>
        r.copy(lifetime = Some(LifetimeSpec(IndexedSeq(TimeSpec(1, 1000000L * (window - 3 * i))))))
      })
    )
  }

  final class Cell(spec: BlockSpec, random: Random, keys: Int = 40) {
    private[this] val store = new BlocksInMemory
    private[this] var state = ForgettingCell.empty(spec)
    private[this] var watermark = Long.MinValue
    private[this] var arrived = 0L
    private[this] val project = UnsafeProjection.create(types.toArray)

    def rowsSoFar: Long = arrived
    def steps: Long = tree.counters.steps
    private def tree: ViewTree = state.tree

    def sizes: Sizes =
      Sizes(
        state.rows,
        state.blocks.entries,
        store.blocks.map(_._2.getSizeInBytes.toLong).sum,
        state.bytes
      )

    /** Rows up to two seconds out of order; a straggler has a future time and stays for two
      * windows.
      */
    def batch(rowsPerSecond: Int, second: Int, stragglers: Boolean): Unit = {
      val rows = Seq.fill(3 * rowsPerSecond) {
        val late = if (stragglers && random.nextInt(60) == 0) 120 else -random.nextInt(3)
        (random.nextInt(3), Blocks.row(types, random.nextInt(keys).toLong, 1000000L * (second + late)))
      }
      arrived += rows.size
      val exchanged = rows.flatMap { case (relation, row) =>
        new RolesAndCells(spec, Array(relation), Iterator(row), project, (_, _) => ())
          .map(r => r.asInstanceOf[UnsafeRow].copy()).toList
      }
      watermark = math.max(watermark, 1000L * (second - 3))
      if (random.nextInt(3) == 0) rehearse(exchanged)
      store.begin()
      task(exchanged, (now, _) => { store.commit(); state = own(now) }).foreach(_ => ())
      Invariants.check(tree)
    }

    private def task(exchanged: Seq[UnsafeRow], commit: (CellState, Undo) => Unit): CellTask = {
      val context = CellContext(spec, Nil, 0, store, reader, _ => (), commit, new TaskMetrics, watermark = watermark)
      ForgettingCell.task(context, state, exchanged.iterator)
    }

    /** Runs a batch, or a part of it, and rolls it back: nothing of it remains. */
    private def rehearse(exchanged: Seq[UnsafeRow]): Unit = {
      val before = (sizes.rows, sizes.entries, state.nextEnd)
      var undo: Option[Undo] = None
      store.begin()
      val played = task(exchanged, (_, back) => undo = Some(back))
      played.take(if (random.nextBoolean()) Int.MaxValue else random.nextInt(4)).foreach(_ => ())
      state = own(undo.fold(played.rollBack().get)(_.apply()))
      val after = (sizes.rows, sizes.entries, state.nextEnd)
      // rows that ended in the batch that was rolled back end in the next one
      assert(
        after._1 == before._1 && after._2 == before._2 && after._3 <= math.max(before._3, watermark),
        s"$after, not $before"
      )
      Invariants.check(tree)
    }

    def rebuild(): Unit = {
      val before = (sizes.rows, sizes.entries, sizes.logBytes, state.nextEnd, state.log)
      val empty = store.blocks.isEmpty
      val blocks = random.shuffle(store.blocks).iterator
      state = ForgettingCell.rebuild(new LogReplay(spec, reader, blocks, _ => (), watermark))
      val after = (sizes.rows, sizes.entries, sizes.logBytes, state.nextEnd, state.log)
      // an empty log begins anew
      assert(after == before || empty && after._1 == 0, s"$after, not $before")
      Invariants.check(tree)
    }

    private def own(state: CellState): ForgettingState = state.asInstanceOf[ForgettingState]

    private def reader = new ChangeLogReader(spec, 0, (block, what) => new AssertionError(s"block $block: $what"))
  }
}
