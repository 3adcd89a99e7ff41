package io.joinless.spark.rules.counts

import io.joinless.spark.plans.failures.{Attempt, CanThrow, Failure, ValueBounds}
import io.joinless.spark.rules.blocks.{Conditions, OuterScope, Term}
import io.joinless.spark.spec.FactorLift
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** A product of factors, each over one leaf; without any, it is 1. A NULL factor makes it 0; a
  * truth value that is not NULL counts as 1.
  */
final private[spark] case class Monomial(factors: Seq[Term]) {
  import Monomial._

  /** The product of both. A test that a factor is not NULL is removed where the factor itself is
    * present.
    */
  def *(that: Monomial): Monomial = {
    val all = (factors ++ that.factors).zipWithIndex
    val kept = all.filterNot { case (f, i) =>
      isTruth(f) && all.exists { case (other, j) =>
        i != j && there(other).identity == f.identity && (!isTruth(other) || j < i)
      }
    }
    Monomial(kept.map(_._1))
  }

  /** 1 where no factor is NULL. */
  def isThere: Monomial = Monomial(Nil) * Monomial(factors.map(there))

  /** Equal where both have the same factors, in any order. */
  lazy val identity: Map[(Int, Expression), Int] = factors.groupMapReduce(_.identity)(_ => 1)(_ + _)
}

private object Monomial {

  /** Whether a factor is a truth value: it counts as 1, and tests that something is not NULL. */
  private def isTruth(factor: Term): Boolean = factor.expression.dataType == BooleanType

  /** True where a factor is not NULL, else NULL. */
  private def there(factor: Term): Term =
    if (isTruth(factor)) factor
    else factor.copy(expression = If(IsNotNull(factor.expression), Literal.TrueLiteral, Literal(null, BooleanType)))
}

/** An argument of an aggregate function as sums of products of columns of leaves: over results, the
  * number of arguments that are not NULL, and their sum.
  *
  * {{{
  *                                               number             sum
  * c.w                                           [c.w]              c.w
  * a.x * b.y                                     [a.x][b.y]         a.x b.y
  * a.x - b.y                                     [a.x][b.y]         a.x[b.y] - [a.x]b.y
  * CASE WHEN a.x > 0 THEN b.y END                [a.x > 0][b.y]     [a.x > 0]b.y
  * CASE WHEN a.x > 0 THEN b.y ELSE 0 END         1 - [a.x > 0] + [a.x > 0][b.y]        the same
  * }}}
  * @param failure not 0 where the argument fails; the others take it for NULL there
  */
final private[spark] case class Polynomial(
    number: Seq[(Int, Monomial)],
    sum: Seq[(Int, Monomial)],
    failure: Option[Monomial] = None
) {

  /** The factors of all terms; they repeat. */
  def factors: Seq[Term] = (number ++ sum).flatMap(_._2.factors)

  /** The polynomial restricted to rows in which none of these factors is NULL. */
  def where(tests: Monomial): Polynomial = Polynomial(
    Polynomial.product(number, Seq(1 -> tests)),
    Polynomial.product(sum, Seq(1 -> tests)),
    failure.map(_ * tests)
  )

  /** The terms, each with how often it counts in the number (where none of its factors is NULL) and
    * in the sum. A term of the number is that of the first summed term that is not NULL for the
    * same rows; without one, it is a term of its own.
    * {{{
    * a.x - b.y     number [a.x][b.y]     (a.x[b.y], 1, 1)
    *               sum a.x[b.y]          ([a.x]b.y, 0, -1)
    *                   - [a.x]b.y
    * }}}
    */
  def parts: Seq[(Monomial, Int, Int)] = {
    val (alsoSummed, numberOnly) = number.partition { case (_, n) => sum.exists(_._2.isThere.identity == n.identity) }
    val summed = sum.zipWithIndex.map { case ((inSum, term), i) =>
      val inNumber =
        alsoSummed.filter { case (_, n) => sum.indexWhere(_._2.isThere.identity == n.identity) == i }.map(_._1).sum
      (term, inNumber, inSum)
    }
    summed ++ numberOnly.map { case (inNumber, term) => (term, inNumber, 0) }
  }
}

private[spark] object Polynomial {

  /** An argument with more terms than this is not added up. */
  final val MostTerms = 8

  /** The argument that is this product. */
  def of(term: Monomial, failure: Option[Monomial] = None): Polynomial =
    Polynomial(Seq(1 -> term.isThere), Seq(1 -> term), failure)

  /** The product of two sums, term by term. */
  def product(a: Seq[(Int, Monomial)], b: Seq[(Int, Monomial)]): Seq[(Int, Monomial)] =
    added(for ((m, s) <- a; (n, t) <- b) yield (m * n, s * t))

  /** The sum in which equal terms are combined. */
  def added(terms: Seq[(Int, Monomial)]): Seq[(Int, Monomial)] =
    terms.foldLeft(Vector.empty[(Int, Monomial)]) { case (known, (coefficient, term)) =>
      known.indexWhere(_._2.identity == term.identity) match {
        case -1 => known :+ (coefficient -> term)
        case index => known.updated(index, (known(index)._1 + coefficient) -> term)
      }
    }.filter(_._1 != 0)
}

/** Decomposes an expression over the leaves of a block.
  *
  * @param leafOf the leaf of an attribute
  */
final private[spark] class Factors(leafOf: Map[ExprId, Int]) {

  /** None where the expression is no polynomial, or may fail without being noticed. */
  def apply(e: Expression): Option[Polynomial] =
    (if (isComputedAbove(e) || !FactorLift.takes(e.dataType)) None else polynomial(e))
      .filter(p => (p.number ++ p.sum).sizeIs <= Polynomial.MostTerms)

  /** Takes the expression apart as far as it reads several leaves. Over one leaf it is one factor;
    * where that can fail, `failure` has a factor for it. Sums and products are taken apart only
    * where no result of Spark's would overflow or be rounded.
    */
  private def polynomial(e: Expression): Option[Polynomial] = (e, leavesOf(e)) match {
    case (_, Seq()) => None
    case (cast: Cast, _) if Cast.canUpCast(cast.child.dataType, cast.dataType) && sameDigits(cast, cast.child) =>
      apply(cast.child)
    case (_, Seq(leaf)) if !CanThrow(e) => Some(Polynomial.of(Monomial(Seq(Term(leaf, e)))))
    case (_, Seq(leaf)) =>
      Some(Polynomial.of(Monomial(Seq(Term(leaf, Attempt(e)))), Some(Monomial(Seq(Term(leaf, Failure(e)))))))
    case (If(condition, value, otherwise), _) => choice(condition, value, otherwise)
    case (CaseWhen(Seq((condition, value)), otherwise), _) =>
      choice(condition, value, otherwise.getOrElse(Literal(null, value.dataType)))
    case (m: Multiply, _) if scale(m).isDefined && ValueBounds.fits(m) =>
      for (l <- sure(m.left); r <- sure(m.right))
        yield Polynomial(Polynomial.product(l.number, r.number), Polynomial.product(l.sum, r.sum))
    case (add: Add, _) if ValueBounds.fits(add) && sameDigits(add, add.left) && sameDigits(add, add.right) =>
      for (l <- sure(add.left); r <- sure(add.right)) yield added(l, r, 1)
    case (minus: Subtract, _)
        if ValueBounds.fits(minus) && sameDigits(minus, minus.left) && sameDigits(minus, minus.right) =>
      for (l <- sure(minus.left); r <- sure(minus.right)) yield added(l, r, -1)
    case _ => None
  }

  /** `l + r`, or `l - r` with sign −1: not NULL where neither side is, so the sum of each side
    * counts only where the other side is not NULL.
    */
  private def added(l: Polynomial, r: Polynomial, sign: Int): Polynomial = Polynomial(
    Polynomial.product(l.number, r.number),
    Polynomial.added(
      Polynomial.product(l.sum, r.number) ++
        Polynomial.product(r.sum, l.number).map { case (coefficient, term) => (sign * coefficient, term) }
    )
  )

  /** The leaf of an expression that can be computed for all of its rows, where it is more than a
    * column.
    */
  def ofOneLeaf(e: Expression): Option[Term] = (e, leavesOf(e)) match {
    case (_: Attribute, _) => None
    case (_, Seq(leaf)) if !isComputedAbove(e) && !CanThrow(e) => Some(Term(leaf, e))
    case _ => None
  }

  /** Whether it must be computed above the join. Where an event time is read, the time itself has
    * to be stored: rows are late by it.
    */
  private def isComputedAbove(e: Expression): Boolean =
    !e.deterministic || Conditions.isLate(e) || OuterScope.attributes(e).exists(Conditions.isEventTime)

  /** The leaves that an expression reads. */
  private def leavesOf(e: Expression): Seq[Int] = OuterScope.attributes(e).map(a => leafOf(a.exprId)).distinct

  /** Only expressions that cannot fail: Spark evaluates no operand after one that is NULL, so it
    * would not raise the failure.
    */
  private def sure(e: Expression): Option[Polynomial] = apply(e).filter(_.failure.isEmpty)

  /** The value where the condition holds, else NULL or 0. None where another value is chosen
    * otherwise, or where a conjunct of the condition reads several leaves or can fail. A constant
    * value is a factor over the leaf of the first conjunct.
    * {{{
    * CASE WHEN a.x > 0 AND b.y > 0 THEN 5 END     the 5 where a.x > 0, times [b.y > 0]
    * }}}
    */
  private def choice(condition: Expression, value: Expression, otherwise: Expression): Option[Polynomial] = {
    val parts = Conditions.conjuncts(condition).map(c => (leavesOf(c), c))
    val tests = parts.collect { case (Seq(leaf), c) if !CanThrow(c) => (leaf, c) }

    /** The value where a condition on its leaf is true, else NULL; a factor. */
    def whereTrue(leaf: Int, c: Expression, value: Expression) = Term(leaf, If(c, value, Literal(null, value.dataType)))
    lazy val test = Monomial(tests.map { case (leaf, c) => whereTrue(leaf, c, Literal.TrueLiteral) })

    /** The value times the tests of the condition. */
    def chosen =
      if (value.foldable) {
        val (leaf, c) = tests.head
        Some(Polynomial.of(Monomial(whereTrue(leaf, c, value) +: test.factors.tail)))
      } else apply(value).map(_.where(test))
    if (tests.size < parts.size) None
    else
      otherwise match {
        case Literal(null, _) => chosen
        case zero if isZero(zero) =>
          chosen.map(p => p.copy(number = Polynomial.added(Seq(1 -> Monomial(Nil), -1 -> test) ++ p.number)))
        case _ => None
      }
  }

  /** Whether it is the number 0. */
  private def isZero(e: Expression): Boolean = e match {
    case Literal(n: Number, ByteType | ShortType | IntegerType | LongType) => n.longValue == 0L
    case Literal(d: Decimal, _) => d.isZero
    case _ => false
  }

  /** Whether both have equally many digits after the decimal point; whole numbers have none. */
  private def sameDigits(a: Expression, b: Expression): Boolean = scale(a).isDefined && scale(a) == scale(b)

  /** The number of digits after the decimal point; None for a type that is not exact. */
  private def scale(e: Expression): Option[Int] = e.dataType match {
    case ByteType | ShortType | IntegerType | LongType => Some(0)
    case d: DecimalType => Some(d.scale)
    case _ => None
  }
}
