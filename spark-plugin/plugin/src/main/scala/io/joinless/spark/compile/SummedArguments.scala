package io.joinless.spark.compile

import io.joinless.spark.plans.{Attempt, CanThrow, Failure, ValueBounds}
import io.joinless.spark.rules.{Conditions, JoinBlock, Leaf, Names, OuterScope, SummedResults}
import io.joinless.spark.spec.FactorLift
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.types._

/** Arguments of aggregate functions that are added up inside of a join, as products of one factor per relation (algorithms A51).
  *
  * {{{
  * SUM(c.w)                                        c.w
  * SUM(a.x * b.y), of 32 bits cast to 64           a.x · b.y
  * SUM(b.y) FILTER (WHERE a.x > 0)                 a.x > 0 or NULL · b.y
  * }}}
  * A factor is a stored column of its relation: where it is computed, it is computed for all rows that are stored. What fails on such a row
  * is NULL there, and a second product, of which no result may be there, tells where the failure is the query's.
  */
private[compile] object SummedArguments {

  /** The block with what can be added up, and with the keys that can be computed where rows are stored; None where there is neither. */
  def apply(block: JoinBlock, demand: Demand): Option[JoinBlock] = {
    val meaning = block.output.map { case (a, value) => a.exprId -> value }.toMap
    val leafOf = block.leaves.zipWithIndex.flatMap { case (leaf, i) => leaf.attributes.map(_.exprId -> i) }.toMap
    val factors = new Factors(leafOf)
    def overLeaves(e: Expression) = OuterScope.replace(e)(a => meaning.getOrElse(a.exprId, a))
    def reads(all: Seq[Expression], computed: Seq[Option[Any]]) =
      AttributeSet(all.zip(computed).collect { case (e, None) => e }.flatMap(_.references))
    def shownBy(read: AttributeSet) =
      AttributeSet(block.output.collect { case (a, value) if read.contains(a) => value }.flatMap(OuterScope.attributes))

    val products = demand.arguments.map(argument => factors(overLeaves(argument)))
    val keys = demand.keys.map(key => factors.ofOneLeaf(overLeaves(key)))
    val read = demand.kept ++ reads(demand.arguments, products) ++ reads(demand.keys, keys)
    // what follows from columns that are told anyway need not be told again, nor added up
    val shown = shownBy(read)
    def isShown(e: Expression) = AttributeSet(OuterScope.attributes(e)).subsetOf(shown)
    val computed = keys.map(_.filterNot { case (_, key) => isShown(key) })
    val summed = products.map(_.filterNot(_.factors.forall { case (_, e) => isShown(e) }))
    Option.when(summed.exists(_.isDefined) || computed.exists(_.isDefined)) {
      val told = demand.kept ++ reads(demand.arguments, summed) ++ reads(demand.keys, computed)
      val columns = new Columns(block.leaves)
      val attributes = summed.map(_.map(product => columns(product.factors)))
      val failures = summed.flatten.flatMap(_.failure).map(columns(_))
      val keyColumns = computed.map(_.map { case (leaf, key) =>
        val column = columns(Seq(leaf -> key)).head
        column.newInstance() -> column
      })
      val hidden = block.output.map(_._1).filterNot(told.contains).map(_.exprId).toSet
      block.copy(
        leaves = columns.leaves,
        output = block.output ++ keyColumns.flatten,
        summed = Some(SummedResults(attributes, failures, keyColumns.map(_.map(_._1)), hidden))
      )
    }
  }

  /** The leaves with a column for each factor that is none yet. */
  final private class Columns(before: IndexedSeq[Leaf]) {
    private[this] val computed = Array.fill(before.size)(IndexedSeq.empty[(Alias, Attribute)])

    def apply(factors: Seq[(Int, Expression)]): IndexedSeq[Attribute] =
      factors.sortBy(_._1).map { case (leaf, factor) => column(leaf, factor) }.toIndexedSeq

    private def column(leaf: Int, factor: Expression): Attribute = factor match {
      case a: Attribute => a
      case value =>
        val own = before(leaf).own(value)
        computed(leaf).collectFirst { case (Alias(same, _), a) if same.semanticEquals(own) => a }.getOrElse {
          val name = own match {
            case Attempt(argument) => argument
            case Failure(argument) => argument
            case other => other
          }
          val alias = Alias(own, Names.of(name))()
          computed(leaf) :+= (alias -> alias.toAttribute.newInstance())
          computed(leaf).last._2
        }
    }

    def leaves: IndexedSeq[Leaf] = before.zipWithIndex.map { case (leaf, i) =>
      val (aliases, attributes) = computed(i).unzip
      if (aliases.isEmpty) leaf
      else leaf.copy(
        plan = Project(leaf.plan.output ++ aliases, leaf.plan),
        columns = leaf.columns ++ aliases.map(_.toAttribute),
        attributes = leaf.attributes ++ attributes
      )
    }
  }
}

/** A product of columns of leaves: each factor is an expression over one leaf, whose number stands beside it.
  *
  * @param failure as a product: there where the argument fails, which `factors` take for NULL
  */
final private[compile] case class FactorProduct(
    factors: Seq[(Int, Expression)],
    failure: Option[Seq[(Int, Expression)]] = None
) {

  def and(more: Seq[(Int, Expression)]): FactorProduct = FactorProduct(factors ++ more, failure.map(_ ++ more))
}

/** Takes an expression over the leaves of a block apart.
  *
  * @param leafOf the leaf of an attribute
  */
final private[compile] class Factors(leafOf: Map[ExprId, Int]) {

  /** None where the expression is no such product, or may fail where nobody could tell. */
  def apply(e: Expression): Option[FactorProduct] =
    if (!e.deterministic || Conditions.isLate(e) || !FactorLift.takes(e.dataType)) None
    else
      (e, leavesOf(e)) match {
        case (_, Seq()) => None
        case (cast: Cast, _) if Cast.canUpCast(cast.child.dataType, cast.dataType) && sameDigits(cast) =>
          apply(cast.child)
        case (_, Seq(leaf)) if !CanThrow(e) => Some(FactorProduct(Seq(leaf -> e)))
        case (_, Seq(leaf)) => Some(FactorProduct(Seq(leaf -> Attempt(e)), Some(Seq(leaf -> Failure(e)))))
        case (If(condition, value, Literal(null, _)), _) => where(Conditions.conjuncts(condition), value)
        case (CaseWhen(Seq((condition, value)), None | Some(Literal(null, _))), _) =>
          where(Conditions.conjuncts(condition), value)
        case (product: Multiply, _) if scale(product).isDefined && ValueBounds.fits(product) =>
          for (left <- sure(product.left); right <- sure(product.right)) yield left.and(right.factors)
        case _ => None
      }

  /** The leaf of an expression that can be computed for all of its rows, where it is more than a column. */
  def ofOneLeaf(e: Expression): Option[(Int, Expression)] = (e, leavesOf(e)) match {
    case (_: Attribute, _) => None
    case (_, Seq(leaf)) if e.deterministic && !Conditions.isLate(e) && !CanThrow(e) => Some(leaf -> e)
    case _ => None
  }

  private def leavesOf(e: Expression): Seq[Int] = OuterScope.attributes(e).map(a => leafOf(a.exprId)).distinct

  /** Spark evaluates no factor behind one that is NULL: a failure would be none. */
  private def sure(e: Expression): Option[FactorProduct] = apply(e).filter(_.failure.isEmpty)

  /** The value where all conditions hold, else NULL. */
  private def where(conditions: Seq[Expression], value: Expression): Option[FactorProduct] = {
    val parts = conditions.map(c => (leavesOf(c), c)).collect { case (Seq(leaf), c) if !CanThrow(c) => (leaf, c) }
    def one(leaf: Int, c: Expression, value: Expression) = leaf -> If(c, value, Literal(null, value.dataType))
    val tests = parts.map { case (leaf, c) => one(leaf, c, Literal.TrueLiteral) }
    if (parts.size < conditions.size) None
    else if (value.foldable) {
      val (leaf, c) = parts.head
      Some(FactorProduct(one(leaf, c, value) +: tests.tail))
    } else apply(value).map(_.and(tests))
  }

  /** Both have the same digits: a whole number, or one with as many behind the point. */
  private def sameDigits(cast: Cast): Boolean = scale(cast).isDefined && scale(cast) == scale(cast.child)

  private def scale(e: Expression): Option[Int] = e.dataType match {
    case ByteType | ShortType | IntegerType | LongType => Some(0)
    case d: DecimalType => Some(d.scale)
    case _ => None
  }
}
