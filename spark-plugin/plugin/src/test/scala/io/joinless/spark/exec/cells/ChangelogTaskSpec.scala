package io.joinless.spark.exec.cells

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.joinless.engine.oracle.{Case, Generators, NaiveJoin, Rows}
import io.joinless.engine.sample.{Grouping, SampledTree}
import io.joinless.spark.Blocks._
import io.joinless.spark.placement.Shares
import io.joinless.spark.spec._
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Batches of signed changes through roles, cells, tasks and logs, without Spark running. */
class ChangelogTaskSpec extends AnyFunSuite {

  /** A case of the engine's generator as a spec of the plugin: the output is any columns, or all of
    * them.
    */
  private def specOf(query: Case, random: Random, partitions: Int): BlockSpec = {
    def typeOf(variable: Boolean): DataType = if (variable) BinaryType else LongType
    val all = for {
      r <- query.relations.indices
      c <- query.inputs(query.relations(r).input).columns.indices if c < 6
    } yield ColumnRef(r, c)
    val every = for {
      r <- query.relations.indices
      c <- query.inputs(query.relations(r).input).columns.indices
    } yield ColumnRef(r, c)
    def attributesOf(c: ColumnRef) = query.relations(c.relation).keys.collect { case (x, c.ordinal) => x }.toSet
    val shape = BlockShape(
      id = NodeId(0),
      inputs = query.inputs.map { i =>
        InputSpec(
          i.columns.zipWithIndex.map { case (v, c) => ColumnSpec(s"c$c", typeOf(v)) },
          if (i.retractable) InputKind.Changelog else InputKind.Appended
        )
      },
      attributes = query.attributes.zipWithIndex.map { case (a, x) =>
        AttributeSpec(s"x$x", typeOf(a.variable), a.nullSafe)
      },
      relations = query.relations.zipWithIndex.map { case (r, i) =>
        RelationSpec(s"r$i", r.input, r.keys.sorted.map { case (x, c) => KeySpec(x, c) })
      },
      tree = query.tree,
      residuals = IndexedSeq.empty,
      output = random.nextInt(3) match {
        case 0 => every
        case 1 => every.filterNot(c => attributesOf(c).exists(x => every.takeWhile(_ != c).exists(attributesOf(_)(x))))
        case _ => random.shuffle(all).take(random.nextInt(4))
      }
    )
    BlockSpec(shape, Shares.choose(shape, partitions, 4.0, shape.relations.map(_ => 1.0)))
  }

  private def value(cell: Option[Long], variable: Boolean): Any = cell match {
    case None => null
    case Some(v) => if (variable) Rows.text(v) else v
  }

  /** @param sample how many results are kept in each cell; None for all
    * @param isGrouped so many are kept of each group of results
    */
  final private class Run(seed: Long, sample: Option[Int] = None, isGrouped: Boolean = false) {
    private val random = new Random(seed)
    private val drawn = Generators.draw(seed)
    private val ungrouped = drawn.copy(
      residuals = IndexedSeq.empty,
      inputs =
        if (drawn.inputs.exists(_.retractable) && sample.isEmpty) drawn.inputs
        else drawn.inputs.map(_.copy(retractable = true))
    )
    private val grouping = if (isGrouped) Grouping.draw(ungrouped, random) else Grouping.none(ungrouped)
    private val query = grouping.query
    private val by = if (isGrouped) query.tree.attributes else BitSet.empty
    private val spec = specOf(query, random, Seq(1, 4, 6)(random.nextInt(3)))
      .shaped(_.having(SampleSpec, sample.map(SampleSpec(_, seed, by = by))))
    private val undisturbed = sample.map(_ => new CellCluster(spec, query.negatives))
    private val cluster = new CellCluster(spec, query.negatives)
    private val oracle = new NaiveJoin(query)
    private var current = Map.empty[UnsafeRow, Long]
    private val types = spec.output.map(c => spec.inputs(spec.relations(c.relation).input).columns(c.ordinal).dataType)
    private val outputRow = UnsafeProjection.create(types.toArray)
    private val scanRow = query.inputs.indices.map { i =>
      val roles = rolesOf(i)
      val more = (if (query.inputs(i).retractable) Seq(LongType) else Nil) ++
        (if (roles.size > 1) roles.map(_ => BooleanType) else Nil)
      UnsafeProjection.create((spec.inputs(i).columns.map(_.dataType) ++ more).toArray)
    }
    var (refused, interrupted, rehearsed, netted) = (0, 0, 0, 0L)

    private def rolesOf(input: Int): Seq[Int] = query.relations.indices.filter(query.relations(_).input == input)

    private def scans(batch: Int): Seq[(Seq[Int], Seq[UnsafeRow])] = query.inputs.indices.flatMap { i =>
      val roles = rolesOf(i)
      // a scan of one role has no booleans: it must be a change of that role
      val rows = query.batches(batch).filter(_.input == i).map { c =>
        val input = query.inputs(i)
        val values = input.rows(c.row).zip(input.columns).map { case (cell, variable) => value(cell, variable) }
        val weight = if (input.retractable) Seq(c.weight) else Nil
        val booleans = if (roles.size > 1) roles.map(r => (c.roles >>> r & 1L) != 0) else Nil
        scanRow(i)(InternalRow.fromSeq(values ++ weight ++ booleans)).copy()
      }
      Option.when(roles.nonEmpty)((roles, rows))
    }

    private def expected(): Map[UnsafeRow, Long] = {
      val result = mutable.Map.empty[UnsafeRow, Long].withDefaultValue(0L)
      for ((key, weight) <- oracle.result()) {
        val rows = NaiveJoin.unpack(key, query.relations.size)
        val values = spec.output.map { c =>
          val input = query.inputs(query.relations(c.relation).input)
          value(input.rows(rows(c.relation))(c.ordinal), input.columns(c.ordinal))
        }
        result(outputRow(InternalRow.fromSeq(values)).copy()) += weight
      }
      result.toMap
    }

    def run(): Unit = for (b <- query.batches.indices) {
      val before = oracle.multiplicity.map(_.clone())
      oracle(query.batches(b))
      if (!query.negatives && oracle.multiplicity.exists(_.exists(_ < 0))) {
        before.indices.foreach(r => before(r).copyToArray(oracle.multiplicity(r)))
        val e = intercept[Throwable](cluster.batch(scans(b)))
        assert(e.asInstanceOf[SparkThrowable].getCondition == "JOINLESS_DELETE_OF_ABSENT_ROW", s"seed $seed")
        refused += 1
      } else {
        // an attempt that dies in the middle leaves nothing behind
        if (random.nextInt(5) == 0)
          try { val _ = cluster.batch(scans(b), failing = true) }
          catch { case _: InterruptedException => interrupted += 1 }
        // nor does another action on the batch, or one that reads only some of its rows
        if (random.nextInt(4) == 0) {
          cluster.rehearse(scans(b), if (random.nextBoolean()) Int.MaxValue else random.nextInt(4))
          rehearsed += 1
        }
        compare(b, cluster.batch(scans(b)))
      }
      if (random.nextInt(6) == 0) cluster.rebuild(random.shuffle(_))
      if (random.nextInt(3) == 0 && sample.isEmpty) cluster.checkPart(random.nextInt())
    }

    private def compare(batch: Int, cells: IndexedSeq[Seq[(UnsafeRow, Long)]]): Unit = {
      netted += cluster.metrics.map(_.rowsNetted).sum
      for (rows <- cells; (row, ofRow) <- rows.groupBy(_._1)) {
        assert(ofRow.forall(_._2 != 0), s"seed $seed, batch $batch")
        assert(ofRow.map(_._2.sign).distinct.size == 1, s"seed $seed, batch $batch: $row is inserted and deleted")
      }
      val result = current.to(mutable.Map)
      for ((row, weight) <- cells.flatten) {
        val sum = result.getOrElse(row, 0L) + weight
        if (sum == 0) result -= row else result(row) = sum
      }
      current = result.toMap
      sample.fold { val _ = assert(current == expected(), s"seed $seed, batch $batch") }(checkSample(batch, cells, _))
      if (oracle.multiplicity.forall(_.forall(_ == 0))) assert(cluster.stores.forall(_.blocks.isEmpty), s"seed $seed")
      val negative = cluster.negative > 0
      assert(negative == anyNegative, s"seed $seed, batch $batch")
      val _ = assert(query.batches(batch).nonEmpty || cluster.stores.forall(_.entriesPut == 0))
    }

    /** The cells have as many results as they should, and emit what cells do to which nothing else
      * happened.
      */
    private def checkSample(batch: Int, cells: IndexedSeq[Seq[(UnsafeRow, Long)]], size: Int): Unit = {
      val (where, all) = (s"seed $seed, batch $batch", expected())
      assert(cluster.results.sum == all.values.sum, where)
      if (!isGrouped) assert(current.values.sum == cluster.results.map(_.min(size)).sum, where)
      else if (spec.cells == 1) {
        val groups = SampledTree.all(oracle.result(), oracle.multiplicity).groupBy(grouping.group).values
        assert(current.values.sum == groups.map(_.size.min(size)).sum, where)
      }
      assert(current.forall { case (row, copies) => copies <= all.getOrElse(row, 0L) }, where)
      val _ = assert(undisturbed.get.batch(scans(batch)).map(_.toSet) == cells.map(_.toSet), where)
    }

    private def anyNegative: Boolean = oracle.multiplicity.exists(_.exists(_ < 0))
  }

  test("oracle_ random queries and changes over several cells: net, and equal to a naive join after every batch") {
    var (refused, interrupted, rehearsed, netted) = (0, 0, 0, 0L)
    for (seed <- 0L until 400L) {
      val run = new Run(seed)
      run.run()
      refused += run.refused
      interrupted += run.interrupted
      rehearsed += run.rehearsed
      netted += run.netted
    }
    info(
      s"$refused batches refused, $interrupted attempts given up, $rehearsed batches rolled back, $netted rows netted away"
    )
    assert(refused > 20 && interrupted > 1000 && rehearsed > 1000 && netted > 1000)
  }

  test("oracle_ samples of random queries over several cells: the same after roll-backs, failures and rebuilds") {
    val runs = for (seed <- 0L until 200L) yield {
      val run = new Run(seed, Some(Seq(1, 3, 10, 1000)(seed.toInt % 4)))
      run.run()
      run
    }
    assert(runs.map(_.interrupted).sum > 500 && runs.map(_.rehearsed).sum > 500)
  }

  test("oracle_ samples per group of random queries over several cells: the same after all of that") {
    val runs = for (seed <- 0L until 200L) yield {
      val run = new Run(seed, Some(Seq(1, 3, 10)(seed.toInt % 3)), isGrouped = true)
      run.run()
      run
    }
    assert(runs.map(_.interrupted).sum > 500 && runs.map(_.rehearsed).sum > 500)
  }

  private def changes(spec: BlockSpec): BlockSpec =
    spec.shaped(_.copy(inputs = spec.inputs.map(_.copy(kind = InputKind.Changelog))))

  private def change(weight: Long, values: Any*): UnsafeRow =
    row(values.map(_ => LongType) :+ LongType, values :+ weight: _*)

  private def condition(e: Throwable): SparkThrowable = e.asInstanceOf[SparkThrowable]

  test("a delete of an absent row names the row and the way out, and nothing is lost") {
    val cluster = new CellCluster(changes(star(2)))
    cluster.batch(Seq(Seq(0) -> Seq(change(2, 1L, 7L)), Seq(1) -> Seq(change(1, 1L, null))))
    val e = condition(intercept[Exception](cluster.batch(Seq(Seq(1) -> Seq(change(-3, 1L, null), change(1, 4L, 4L))))))
    assert(e.getCondition == "JOINLESS_DELETE_OF_ABSENT_ROW")
    assert(e.getMessageParameters.asScala == Map(
      "relation" -> "r1",
      "row" -> "c0=1, c1=NULL",
      "present" -> "1",
      "change" -> "-3"
    ))
    assert(e.asInstanceOf[Exception].getMessage.contains("spark.joinless.deleteOfAbsentRow=negative"))
    val out = cluster.batch(Seq(Seq(0) -> Seq(change(-1, 1L, 7L))))
    assert(out == IndexedSeq(Seq((row(Seq.fill(4)(LongType), 1L, 7L, 1L, null), -1L))))
  }

  test("rows of negative multiplicity are absent until inserts make up for it") {
    val cluster = new CellCluster(changes(star(2)), negatives = true)
    def weights(scans: (Seq[Int], Seq[UnsafeRow])*): Seq[Long] = cluster.batch(scans).flatten.map(_._2)
    def negative: Long = cluster.negative
    assert(weights(Seq(0) -> Seq(change(1, 1L, 1L))) == Nil)
    assert(weights(Seq(1) -> Seq(change(-2, 1L, 2L))) == Nil && negative == 1)
    cluster.rebuild()
    assert(weights(Seq(1) -> Seq(change(1, 1L, 2L))) == Nil && negative == 1)
    assert(weights(Seq(1) -> Seq(change(1, 1L, 2L))) == Nil && negative == 0)
    assert(weights(Seq(1) -> Seq(change(3, 1L, 2L))) == Seq(3L))
    assert(weights(Seq(1) -> Seq(change(-4, 1L, 2L))) == Seq(-3L) && negative == 1)
    assert(weights(Seq(0) -> Seq(change(-1, 1L, 1L)), Seq(1) -> Seq(change(1, 1L, 2L))) == Nil && negative == 0)
    assert(cluster.rowsStored == 0 && cluster.stores.forall(_.blocks.isEmpty))
  }

  test("weights that leave 64 bits are an error wherever they occur") {
    val large = Long.MaxValue / 2 + 1
    for (weight <- Seq(1L, 2L)) {
      val cluster = new CellCluster(changes(star(2)))
      cluster.batch(Seq(Seq(0) -> Seq(change(large, 1L, 1L))))
      val scan = if (weight == 1L) Seq(0) -> Seq(change(large, 1L, 1L)) else Seq(1) -> Seq(change(weight, 1L, 1L))
      assert(condition(intercept[Exception](cluster.batch(Seq(scan)))).getCondition == "JOINLESS_WEIGHT_OVERFLOW")
      assert(cluster.batch(Seq(Seq(1) -> Seq(change(1, 1L, 3L)))).flatten.map(_._2) == Seq(large))
    }
    // a projection that adds up results
    val narrow = changes(star(2)).shaped(_.copy(output = IndexedSeq(ColumnRef(0, 0))))
    val cluster = new CellCluster(narrow)
    cluster.batch(Seq(Seq(0) -> Seq(change(large, 1L, 1L), change(1, 2L, 2L)), Seq(1) -> Seq(change(1, 2L, 2L))))
    val both = Seq(Seq(1) -> Seq(change(1, 1L, 1L), change(1, 1L, 2L), change(-1, 2L, 2L)))
    assert(condition(intercept[Exception](cluster.batch(both))).getCondition == "JOINLESS_WEIGHT_OVERFLOW")
  }

  test("a product that stays the same is not emitted") {
    val cluster = new CellCluster(changes(star(2)))
    cluster.batch(Seq(Seq(0) -> Seq(change(1, 1L, 1L)), Seq(1) -> Seq(change(2, 1L, 2L))))
    assert(cluster.batch(Seq(Seq(0) -> Seq(change(1, 1L, 1L)), Seq(1) -> Seq(change(-1, 1L, 2L)))).flatten == Nil)
  }

  test("replacements under one key in several relations are not emitted where they cancel out") {
    val cluster = new CellCluster(changes(star(3)))
    def all(weight: Long, payload: Long) = (0 until 3).map(r => Seq(r) -> Seq(change(weight, 1L, payload)))
    cluster.batch(all(1, 1))
    val out = cluster.batch(all(-1, 1) ++ all(1, 2)).flatten
    assert(out.map(_._2).sorted == Seq(-1L, 1L))
  }
}
