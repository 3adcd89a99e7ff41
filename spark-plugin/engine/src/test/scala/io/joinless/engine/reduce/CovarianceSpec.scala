package io.joinless.engine.reduce

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.algebra.WeightOverflow
import io.joinless.engine.oracle.{Case, CaseAttribute, CaseChange, CaseInput, CaseRelation, NaiveJoin, Rows}
import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.Lift
import org.scalatest.funsuite.AnyFunSuite

/** An example of a user-defined ring: the sums that least squares needs of the results of a join,
  * maintained without the results.
  *
  * {{{
  * R(a, x0) ⋈ S(a, b, x1) ⋈ T(b, c, x2) ⋈ U(c, y)   y ≈ k + k0·x0 + k1·x1 + k2·x2, all or per b
  * }}}
  */
class CovarianceSpec extends AnyFunSuite {
  import CovarianceSpec._

  test("the elements of the covariance ring are a commutative ring") {
    val random = new Random(1)
    def element() = Array.fill(ring.width)(random.nextInt(21) - 10L)
    for (_ <- 0 until 1000) {
      val (a, b, c) = (element(), element(), element())
      assert(plus(a, b) === plus(b, a))
      assert(times(a, b) === times(b, a))
      assert(times(times(a, b), c) === times(a, times(b, c)))
      assert(times(plus(a, b), c) === plus(times(a, c), times(b, c)))
      assert(times(a, ring.one()) === a)
      assert(plus(a, scaled(a, -1)) === new Array[Long](ring.width))
      assert(scaled(a, 3) === plus(plus(a, a), a))
    }
  }

  for ((over, projected) <- Seq("all results" -> BitSet.empty, "each b" -> BitSet(B), "each a and b" -> BitSet(A, B)))
    test(s"oracle_batches: count, sums and sums of products over $over, and the regression that they give") {
      val random = new Random(7)
      val query = drawQuery(random, projected)
      val (join, oracle) = (new ReducedJoin(definition(query)), new NaiveJoin(query.of))
      val batch = new ReducedBatch(join, IndexedSeq.empty)
      val kept = mutable.Map.empty[Key, Array[Long]]
      var emitted, still, fits, emptied = 0
      for (_ <- 0 until 400) {
        for (change <- drawBatch(random, query.of, oracle)) {
          val words = query.of.inputs(change.input).words(change.row)
          batch.add(change.input, change.roles, change.weight, words, words.length)
        }
        while (batch.next()) {
          val key = query.reduction.components.indices.map(c => query.values(join.projectedRows(c), batch.rows(c)))
          kept(key) = plus(kept.getOrElse(key, new Array(ring.width)), batch.element)
          emitted += 1
          if (batch.weight == 0) still += 1
        }
        kept.filterInPlace((_, element) => element.exists(_ != 0L))

        val results = joined(query, oracle)
        assert(kept.view.mapValues(_.toSeq).toMap === results.view.mapValues(elementOf(_).toSeq).toMap)
        for ((key, rows) <- results; solved <- regression(kept(key))) {
          for ((solution, fitted) <- solved.zip(leastSquares(rows)))
            assert(math.abs(solution - fitted) < 1e-6 * (1 + fitted.abs))
          fits += 1
        }
        if (results.isEmpty) emptied += 1
        assert(oracle.multiplicity.exists(_.exists(_ > 0)) || join.isEmpty)
      }
      info(
        s"$emitted elements emitted, $still of them with as many results as before; $fits regressions; $emptied times no result"
      )
      assert(still > 10 && fits > 200 && emptied > 10)
    }

  test("a sum that does not fit 64 bits is an overflow, and no number") {
    val large = 1L << 31
    val rows = IndexedSeq(Seq(0L, large), Seq(0L, 0L, large), Seq(0L, 0L, 0L), Seq(0L, 0L))
    val query = queryOver(rows.map(row => IndexedSeq(row.map(Option(_)).toIndexedSeq)), BitSet.empty)
    val batch = new ReducedBatch(new ReducedJoin(definition(query)), IndexedSeq.empty)
    def insert(input: Int): Unit = {
      val words = query.of.inputs(input).words(0)
      batch.add(input, 1L << input, 1L, words, words.length)
    }
    (0 until 4).foreach(insert)
    assert(batch.next())
    assert(batch.element(ring.product(0, 1)) === 1L << 62)
    assert(!batch.next())
    insert(3) // a second result, with the same values
    assertThrows[WeightOverflow](batch.drain())
  }
}

object CovarianceSpec {

  /** The variable of a relation: one of its columns, which is never NULL. */
  final private class Variable(variable: Int, column: Int, columns: Int) extends Lift {
    private[this] val word = Rows.headWords(columns) - columns + column

    override def multiply(into: Array[Long], arena: TupleArena, row: Int): Unit =
      ring.multiply(into, ring.lift(variable, arena.page(row)(arena.start(row) + word)), 0)
  }

  /** The projected rows of a result, one per component. */
  private type Key = IndexedSeq[IndexedSeq[Long]]

  /** A result of the join: its variables and its multiplicity. */
  final private case class Result(values: IndexedSeq[Long], copies: Long)

  private val A = 0
  private val B = 1
  private val C = 2

  /** The attributes of R, S, T and U in their first columns; the last column is the relation's
    * variable.
    */
  private val keys = IndexedSeq(IndexedSeq(A), IndexedSeq(A, B), IndexedSeq(B, C), IndexedSeq(C))

  private val ring = new Covariance(keys.size)

  private def queryOver(rows: IndexedSeq[IndexedSeq[IndexedSeq[Option[Long]]]], projected: BitSet): ReducedCase = {
    val graph = Hypergraph.of(keys: _*)
    val tree = TreeSearch.best(graph).fold(core => sys.error(core.toString), identity)
    val inputs = rows.zip(keys).map { case (stock, of) =>
      CaseInput(retractable = true, (0 to of.size).map(_ => false), stock)
    }
    val relations = keys.indices.map(r => CaseRelation(r, keys(r).zipWithIndex))
    val attributes = IndexedSeq.fill(3)(CaseAttribute(variable = false, nullSafe = false))
    val join = Case(attributes, inputs, relations, tree, IndexedSeq.empty, IndexedSeq.empty)
    ReducedCase(join, projected, IndexedSeq.empty, IndexedSeq.fill(keys.size)(false))
  }

  /** A query with few different keys, so that most rows have a match, and small values of both
    * signs.
    */
  private def drawQuery(random: Random, projected: BitSet): ReducedCase = queryOver(
    keys.map { of =>
      IndexedSeq.fill(12)(of.map(_ => Option(random.nextInt(3).toLong)) :+ Option(random.nextInt(19) - 9L)).distinct
    },
    projected
  )

  private def definition(query: ReducedCase): ReducedDef = {
    val lifts = keys.indices.map(r => Option[Lift](new Variable(r, keys(r).size, keys(r).size + 1)))
    query.definition(ring, lifts = false).copy(lifts = lifts)
  }

  /** Draws a batch: rows are inserted and deleted in several copies, others get another value, or
    * all rows are deleted. The oracle applies it, too.
    */
  private def drawBatch(random: Random, query: Case, oracle: NaiveJoin): IndexedSeq[CaseChange] = {
    def take(relation: Int, row: Int, weight: Long) = {
      val change = CaseChange(relation, row, 1L << relation, weight)
      oracle(Seq(change))
      change
    }
    def change(): Seq[CaseChange] = {
      val r = random.nextInt(keys.size)
      val stock = query.inputs(r).rows
      val row = random.nextInt(stock.size)
      val there = oracle.multiplicity(r)(row).toInt
      if (there == 0 || random.nextInt(3) == 0) Seq(take(r, row, 1L + random.nextInt(3)))
      else if (random.nextBoolean()) Seq(take(r, row, -1L - random.nextInt(there)))
      else {
        val sameKeys = stock.indices.filter(stock(_).init == stock(row).init)
        Seq(take(r, row, -1L), take(r, sameKeys(random.nextInt(sameKeys.size)), 1L))
      }
    }
    if (random.nextInt(25) > 0) IndexedSeq.fill(Seq(1, 1, 2, 8)(random.nextInt(4)))(change()).flatten
    else
      for (r <- keys.indices; row <- oracle.multiplicity(r).indices if oracle.multiplicity(r)(row) > 0)
        yield take(r, row, -oracle.multiplicity(r)(row))
  }

  /** The results by their projected rows, found by nested loops. */
  private def joined(query: ReducedCase, oracle: NaiveJoin): Map[Key, Seq[Result]] =
    oracle.result().toSeq.map { case (packed, copies) =>
      val rows = NaiveJoin.unpack(packed, keys.size).zip(query.of.inputs).map { case (row, input) => input.rows(row) }
      val bound = rows.zip(keys).flatMap { case (row, of) => of.zip(row) }.toMap
      query.reduction.components.indices.map(query.words(_, bound)) -> Result(rows.map(_.last.get), copies)
    }.groupMap(_._1)(_._2)

  /** The sum of results, without the ring's products. */
  private def elementOf(results: Seq[Result]): Array[Long] = {
    val element = new Array[Long](ring.width)
    for (Result(x, copies) <- results) {
      element(0) += copies
      for (i <- x.indices) element(ring.sum(i)) += copies * x(i)
      for (i <- x.indices; j <- i until x.size) element(ring.product(i, j)) += copies * x(i) * x(j)
    }
    element
  }

  /** The coefficients of the last variable as a function of a constant and the other variables: the
    * solution of the normal equations, in integers up to the last division (Bareiss). None if it is
    * not unique.
    */
  private def regression(element: Array[Long]): Option[IndexedSeq[Double]] = {
    val (constant, last) = (-1, ring.variables - 1)
    val unknowns = constant until last
    def moment(i: Int, j: Int): BigInt =
      if (j == constant) element(0)
      else if (i == constant) element(ring.sum(j))
      else element(ring.product(i, j))
    val rows = unknowns.map(i => (unknowns :+ last).map(j => moment(i min j, i max j)).toArray)
    var divisor = BigInt(1)
    val solvable = rows.indices.forall { i =>
      val pivot = rows(i)(i)
      if (pivot != 0)
        for (row <- rows if row ne rows(i)) {
          val factor = row(i)
          for (c <- row.indices) row(c) = (row(c) * pivot - factor * rows(i)(c)) / divisor
        }
      divisor = pivot
      pivot != 0
    }
    Option.when(solvable)(rows.map(_.last.toDouble / divisor.toDouble))
  }

  /** The same from the results themselves, without these equations: columns are made orthogonal one
    * after the other (Gram and Schmidt).
    */
  private def leastSquares(results: Seq[Result]): IndexedSeq[Double] = {
    val columns =
      results.map(r => (1L +: r.values).map(_ * math.sqrt(r.copies.toDouble))).transpose.map(_.toArray).toArray
    val last = columns.length - 1
    def dot(x: Array[Double], y: Array[Double]) = x.indices.iterator.map(i => x(i) * y(i)).sum
    val parts = Array.ofDim[Double](last, columns.length)
    for (i <- 0 until last; j <- i + 1 to last) {
      parts(i)(j) = dot(columns(i), columns(j)) / dot(columns(i), columns(i))
      columns(j) = columns(j).zip(columns(i)).map { case (x, y) => x - parts(i)(j) * y }
    }
    val coefficients = new Array[Double](last)
    for (i <- last - 1 to 0 by -1)
      coefficients(i) = parts(i)(last) - (i + 1 until last).map(j => parts(i)(j) * coefficients(j)).sum
    coefficients.toIndexedSeq
  }

  private def plus(x: Array[Long], y: Array[Long]): Array[Long] = { val z = x.clone(); ring.add(z, 0, y, 0); z }
  private def times(x: Array[Long], y: Array[Long]): Array[Long] = { val z = x.clone(); ring.multiply(z, y, 0); z }
  private def scaled(x: Array[Long], n: Long): Array[Long] = { val z = x.clone(); ring.scale(z, n); z }
}
