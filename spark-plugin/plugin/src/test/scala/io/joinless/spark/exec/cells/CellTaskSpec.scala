package io.joinless.spark.exec.cells

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.Blocks._
import io.joinless.spark.exec.RolesAndCells
import io.joinless.spark.exec.figures.TaskMetrics
import io.joinless.spark.spec.{BlockSpec, ColumnRef, ResidualSpec}
import io.joinless.spark.state.cells.{CellState, Undo}
import io.joinless.spark.state.log.{BlocksInMemory, ChangeLogReader}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, LessThan, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.LongType
import org.scalatest.funsuite.AnyFunSuite

/** Batches through roles, cells, tasks and logs without Spark running: every cell a loop. */
class CellTaskSpec extends AnyFunSuite {

  final private class Cluster(spec: BlockSpec, random: Random, residuals: Seq[Expression]) {
    private val stores = Array.fill(spec.cells)(new BlocksInMemory)
    var rolledBack = 0 // tasks that were not read to their end
    private val trees = Array.fill[CellState](spec.cells)(AppendedCell.empty(spec))

    private def reader(c: Int) =
      new ChangeLogReader(spec, c, (block, what) => new AssertionError(s"cell $c, block $block: $what"))

    def rebuild(): Unit = for (c <- 0 until spec.cells) {
      val before = trees(c)
      trees(c) =
        AppendedCell.rebuild(new LogReplay(spec, reader(c), random.shuffle(stores(c).blocks).iterator, _ => ()))
      assert(trees(c).log == before.log)
    }

    /** Rows per relation in, result rows out. */
    def batch(rows: Seq[(Int, UnsafeRow)]): Seq[Seq[Any]] = {
      val project = UnsafeProjection.create(spec.inputs.head.columns.map(_.dataType).toArray)
      val exchanged = rows.flatMap { case (relation, row) =>
        new RolesAndCells(spec, Array(relation), Iterator(row), project, (_, _) => ())
          .map(r => r.asInstanceOf[UnsafeRow].copy()).toList
      }
      (0 until spec.cells).flatMap { c =>
        rehearse(c, random.shuffle(exchanged)) // so rows that are stored afterwards get the ids of others
        var committed = false
        stores(c).begin()
        val task = newTask(
          c,
          exchanged,
          (tree, _) => { assert(!committed); committed = true; stores(c).commit(); trees(c) = tree }
        )
        val out = task.map { r =>
          spec.output.indices.map(i => if (r.isNullAt(i)) null else r.getLong(i))
        }.toList
        assert(committed && !task.hasNext && task.rollBack().isEmpty)
        out
      }
    }

    private def newTask(
        c: Int,
        exchanged: Seq[UnsafeRow],
        commit: (CellState, Undo) => Unit
    ): CellTask = {
      val context = CellContext(spec, residuals, c, stores(c), reader(c), _ => (), commit, new TaskMetrics)
      AppendedCell.task(context, trees(c), exchanged.iterator.filter(_.getInt(0) == c))
    }

    /** Runs a batch, or a part of it, and rolls it back. */
    private def rehearse(c: Int, exchanged: Seq[UnsafeRow]): Unit = {
      var undo: Option[Undo] = None
      stores(c).begin()
      val task = newTask(c, exchanged, (_, back) => undo = Some(back))
      task.take(if (random.nextBoolean()) Int.MaxValue else random.nextInt(4)).foreach(_ => ())
      val rows = stores(c).blocks.map(pair => ChangeLogReader.entriesOf(pair._2)).sum
      if (undo.isEmpty) rolledBack += 1
      trees(c) = undo.fold(task.rollBack().get)(_.apply())
      val _ = assert(trees(c).tree.rows == rows)
    }
  }

  private def naive(spec: BlockSpec, rows: Seq[(Int, UnsafeRow)], accept: Seq[UnsafeRow] => Boolean): Seq[Seq[Any]] =
    spec.relations.indices.foldLeft(Seq(Vector.empty[UnsafeRow])) { (partial, r) =>
      for (
        p <- partial; (`r`, row) <- rows if spec.relations(r).keys.forall { k =>
          (0 until r).forall(o =>
            spec.relations(o).keys.filter(_.attribute == k.attribute).forall { other =>
              !row.isNullAt(k.ordinal) && p(o).getLong(other.ordinal) == row.getLong(k.ordinal)
            }
          ) && !row.isNullAt(k.ordinal)
        }
      ) yield p :+ row
    }.filter(accept).map(p =>
      spec.output.map(c => if (p(c.relation).isNullAt(c.ordinal)) null else p(c.relation).getLong(c.ordinal))
    )

  private def compare(
      spec: BlockSpec,
      random: Random,
      residuals: Seq[Expression] = Nil,
      accept: Seq[UnsafeRow] => Boolean = _ => true
  ): Unit = {
    val cluster = new Cluster(spec, random, residuals)
    val all = mutable.Buffer.empty[(Int, UnsafeRow)]
    val result = mutable.Buffer.empty[Seq[Any]]
    for (batch <- 0 until 6) {
      def value() = if (random.nextInt(10) == 0) null else random.nextInt(6).toLong
      val rows = Seq.fill(random.nextInt(12))((random.nextInt(spec.relations.size), edge(value(), value())))
      all ++= rows
      result ++= cluster.batch(rows)
      if (batch % 2 == 1) cluster.rebuild()
      assert(result.map(_.toString).sorted == naive(spec, all.toSeq, accept).map(_.toString).sorted)
    }
  }

  private val shapes = Seq(
    "path" -> path(3),
    "path, one input" -> path(3, sharedInput = true),
    "star" -> star(3),
    "cross product" -> block(Seq(LongType, LongType))(Nil, Nil),
    "a pair and one apart" -> block(Seq(LongType, LongType))(Seq((0, 0)), Seq((0, 1)), Nil)
  )

  for ((name, spec) <- shapes; partitions <- Seq(1, 4, 6))
    test(s"oracle_ batches over several cells, with rebuilds: $name, $partitions partitions") {
      val shares = io.joinless.spark.placement.Shares.choose(spec.shape, partitions, 4.0, spec.relations.map(_ => 1.0))
      for (seed <- 0 until 10) compare(spec.copy(shares = shares), new Random(seed))
    }

  test("oracle_ residual conditions are evaluated on the rows of the result") {
    val residual = ResidualSpec("r0.c0 < r2.c1", IndexedSeq(ColumnRef(0, 0), ColumnRef(2, 1)))
    val spec = path(3).copy(shares = IndexedSeq(2, 2)).shaped(_.copy(residuals = IndexedSeq(residual)))
    val less = LessThan(BoundReference(0, LongType, nullable = true), BoundReference(1, LongType, nullable = true))
    for (seed <- 0 until 20) compare(
      spec,
      new Random(seed),
      Seq(less),
      p => !p(0).isNullAt(0) && !p(2).isNullAt(1) && p(0).getLong(0) < p(2).getLong(1)
    )
  }

  for ((name, spec) <- Seq("path" -> path(3), "path, one input" -> path(3, sharedInput = true)))
    test(s"oracle_ rows are looked up in groups where there are many keys: $name") {
      val random = new Random(7)
      val cluster = new Cluster(spec, random, Nil)
      val edges = mutable.Buffer.empty[(Int, Long, Long)]
      val result = mutable.Buffer.empty[Seq[Any]]
      // the first batch has the keys; some of the others are stopped in the middle of rows taken
      // ahead, and rolled back
      for (size <- 25000 +: Seq.fill(10)(300)) {
        def vertex() = random.nextInt(10000).toLong
        val rows = Seq.fill(size)((random.nextInt(3), vertex(), vertex()))
        edges ++= rows
        result ++= cluster.batch(rows.map { case (r, src, dst) => (r, edge(src, dst)) })
      }
      val of = edges.toSeq.groupBy(_._1)
      val (byDst, bySrc) = (of(0).groupBy(_._3), of(2).groupBy(_._2))
      val right = for {
        (_, b, c) <- of(1)
        (_, a, _) <- byDst.getOrElse(b, Nil)
        (_, _, d) <- bySrc.getOrElse(c, Nil)
      } yield Vector(a, b, b, c, c, d)
      assert(right.size > 5000 && cluster.rolledBack > 2)
      assert(result.map(_.toString).sorted == right.map(_.toString).sorted)
    }
}
