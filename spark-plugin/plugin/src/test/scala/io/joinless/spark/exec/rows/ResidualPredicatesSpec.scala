package io.joinless.spark.exec.rows

import io.joinless.engine.tuples.TupleArena
import io.joinless.spark.Blocks._
import io.joinless.spark.exec.cells.CellTask
import io.joinless.spark.spec.{ColumnRef, ResidualSpec, RowCodec}
import org.apache.spark.sql.catalyst.expressions.{Add, BoundReference, EvalMode, Expression, LessThan, Literal}
import org.apache.spark.sql.catalyst.expressions.NumericEvalContext
import org.apache.spark.sql.types.LongType
import org.scalatest.funsuite.AnyFunSuite

/** The rows on which a condition is evaluated. */
class ResidualPredicatesSpec extends AnyFunSuite {

  private val (left, right) =
    (BoundReference(0, LongType, nullable = true), BoundReference(1, LongType, nullable = true))

  /** `condition` over the first columns of relations 0 and 1 of three, and the rows (a), (b) and
    * (0) of these.
    */
  private def over(condition: Expression)(a: Long, b: Long) = {
    val residual = ResidualSpec("", IndexedSeq(ColumnRef(0, 0), ColumnRef(1, 0)))
    val spec = path(3).shaped(_.copy(residuals = IndexedSeq(residual)))
    val arenas = spec.inputs.map(input => new TupleArena(RowCodec.fixedWords(input)))
    val rows = arenas.zip(Seq(a, b, 0L)).map { case (arena, value) =>
      val stored = edge(value, 0L)
      CellTask.append(arena, stored.getBaseObject, stored.getBaseOffset, stored.getSizeInBytes)
    }
    val residuals = ResidualPredicates.compile(spec, Seq(condition), arenas)
    residuals.map(r => (r.relations, () => r.accept(rows.toArray)))
  }

  test("a condition that cannot fail is evaluated once its relations are there") {
    for ((a, accepted) <- Seq(1L -> true, 2L -> false))
      assert(over(LessThan(left, right))(a, 2).map(r => r._1 -> r._2()) == Seq(Seq(0, 1) -> accepted))
  }

  test("a condition that can fail is tried there, and evaluated on rows of all relations") {
    val next = LessThan(Add(left, Literal(1L), NumericEvalContext(EvalMode.ANSI)), right)
    for ((a, b, accepted) <- Seq((1L, 3L, true), (1L, 2L, false))) {
      val both = over(next)(a, b)
      assert(both.map(_._1) == Seq(Seq(0, 1), Seq(0, 1, 2)))
      assert(both.forall(_._2() == accepted))
    }
    val failing = over(next)(Long.MaxValue, 0).map(_._2)
    assert(failing.head()) // Spark may find no row of the third relation that joins with these
    assert(intercept[ArithmeticException](failing.last()).getMessage.contains("ARITHMETIC_OVERFLOW"))
  }
}
