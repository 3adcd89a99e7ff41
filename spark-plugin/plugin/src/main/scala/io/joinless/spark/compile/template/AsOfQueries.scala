package io.joinless.spark.compile.template

import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.plans.values.AsOfRows
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Complete, MaxBy, MinBy}
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType, LeftOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.{AS_OF_JOIN, LATERAL_JOIN, SCALAR_SUBQUERY}
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types.DataType

/** Finds the as-of joins of a query over streams, in the forms in which people write them, and
  * makes a node ([[AsOf]]) of each:
  * {{{
  * FROM t LEFT JOIN LATERAL (SELECT q.price FROM q WHERE q.sym = t.sym AND q.ts <= t.ts
  *                           ORDER BY q.ts DESC LIMIT 1)
  * (SELECT q.price FROM q WHERE q.sym = t.sym AND q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1)
  * (SELECT MAX_BY(q.price, q.ts) FROM q WHERE q.sym = t.sym AND q.ts <= t.ts)
  * t ASOF JOIN q MATCH_CONDITION (t.ts >= q.ts) ON q.sym = t.sym
  * }}}
  * Spark's own rules would join each row of t with all earlier rows of q.
  *
  * A second bound on the same time, which says how old a match may be, is a condition on the match:
  * if the last row is too old, all are. A subquery of another form stays as it is.
  */
private[compile] object AsOfQueries extends PredicateHelper {

  /** The plan with as-of joins in place of these subqueries; not in the plans of other subqueries. */
  def in(plan: LogicalPlan): LogicalPlan =
    plan.transformUpWithPruning(_.containsAnyPattern(AS_OF_JOIN, LATERAL_JOIN, SCALAR_SUBQUERY)) {
      case join: AsOfJoin => ofJoin(join).getOrElse(join)
      case join @ LateralJoin(left, lateral, kind, condition) if condition.forall(_ == Literal.TrueLiteral) =>
        lastOf(left, lateral.plan, kind).fold[LogicalPlan](join) { case (joined, columns) =>
          val own = lateral.plan.output.zip(columns).map { case (a, e) => Alias(e, a.name)(a.exprId, a.qualifier) }
          Project(left.output ++ own, joined)
        }
      case Project(list, child) =>
        val (values, below) = scalars(list, child)
        Project(list.map(values(_).asInstanceOf[NamedExpression]), below)
      case filter @ Filter(condition, child) =>
        val (values, below) = scalars(Seq(condition), child)
        if (below eq child) filter else Project(child.output, Filter(values(condition), below))
    }

  /** Joins rows with the matches of the scalar subqueries in expressions over them.
    *
    * @return how an expression reads them, and the joined rows
    */
  private def scalars(expressions: Seq[Expression], child: LogicalPlan): (Expression => Expression, LogicalPlan) = {
    val found = expressions.flatMap(_.collect { case s: ScalarSubquery if s.isCorrelated => s })
      .distinctBy(_.canonicalized)
    val (values, joined) = found.foldLeft((Seq.empty[(ScalarSubquery, Expression)], child)) {
      case ((values, below), subquery) =>
        lastOf(below, subquery.plan, LeftOuter) match {
          case Some((joined, Seq(value))) => (values :+ subquery -> value, joined)
          case _ => (values, below)
        }
    }
    def replaced(e: Expression) = e.transform {
      case s: ScalarSubquery if values.exists(_._1.semanticEquals(s)) => values.find(_._1.semanticEquals(s)).get._2
    }
    (replaced, joined)
  }

  /** The rows of a subquery, correlated with rows of `left`, of which only one is needed.
    *
    * @param rows without the conditions that correlate them; its columns include all that these and
    *   the other expressions read
    * @param conditions over the columns of both sides
    * @param time by which one row is the last one, or the first one
    * @param results the columns of the subquery, in which values of the row are [[OfMatch]]; they
    *   are computed of no other row, as they may fail on it
    * @param always the subquery has a row even if `rows` has none
    */
  final private case class OneRow(
      rows: LogicalPlan,
      conditions: Seq[Expression],
      time: Expression,
      forward: Boolean,
      ties: Seq[SortOrder],
      results: Seq[Expression],
      always: Boolean
  )

  /** A value of the one row, over the columns of `rows`; NULL where there is no row. */
  final private case class OfMatch(child: Expression) extends UnaryExpression with Unevaluable {
    override def dataType: DataType = child.dataType

    override protected def withNewChildInternal(newChild: Expression): OfMatch = copy(newChild)
  }

  /** `left` joined with the one row that a subquery returns for each of its rows, and the columns of
    * the subquery over it; None if it is no as-of join that can be maintained.
    */
  private def lastOf(left: LogicalPlan, subquery: LogicalPlan, kind: JoinType): Option[(LogicalPlan, Seq[Expression])] =
    for {
      _ <- Option.when(kind == Inner || kind == LeftOuter)(())
      one <- oneRow(subquery)
      joined <- joined(left, one, kind == LeftOuter || one.always)
    } yield joined

  private def ofJoin(join: AsOfJoin): Option[LogicalPlan] = {
    val conditions = (join.condition.toSeq :+ join.asOfCondition).flatMap(splitConjunctivePredicates)
    val isOfLeft = (e: Expression) => e.references.nonEmpty && e.references.subsetOf(join.left.outputSet)
    // the distance of two rows is their difference: the later one, less the earlier one
    val forward = join.orderExpression.children.headOption.map(!isOfLeft(_))
    for {
      _ <- Option.when(join.joinType == Inner || join.joinType == LeftOuter)(())
      forward <- forward
      time <- conditions.collectFirst {
        case Compared(l, r, isBefore, _) if isOfLeft(l) && isBefore == forward => r
        case Compared(l, r, isBefore, _) if isOfLeft(r) && isBefore != forward => l
      }
      one = OneRow(join.right, conditions, time, forward, Nil, join.right.output.map(OfMatch), always = false)
      (joined, columns) <- joined(join.left, one, join.joinType == LeftOuter)
    } yield Project(
      join.left.output ++ join.right.output.zip(columns).map { case (a, e) => Alias(e, a.name)(a.exprId, a.qualifier) },
      joined
    )
  }

  /** A comparison by size: whether the first operand is before the second, and whether they must
    * differ.
    */
  private object Compared {
    def unapply(e: Expression): Option[(Expression, Expression, Boolean, Boolean)] = e match {
      case LessThanOrEqual(l, r) => Some((l, r, true, false))
      case LessThan(l, r) => Some((l, r, true, true))
      case GreaterThanOrEqual(l, r) => Some((l, r, false, false))
      case GreaterThan(l, r) => Some((l, r, false, true))
      case _ => None
    }
  }

  private def joined(left: LogicalPlan, one: OneRow, outer: Boolean): Option[(LogicalPlan, Seq[Expression])] = {
    // what is NULL exactly where there is no match
    val (right, time) = one.time match {
      case a: Attribute => (one.rows, a)
      case computed =>
        val column = Alias(computed, "time")()
        (Project(one.rows.output :+ column, one.rows), column.toAttribute)
    }
    def isOf(e: Expression, side: LogicalPlan) = e.references.nonEmpty && e.references.subsetOf(side.outputSet)

    /** Operands in the sequence left, right; and whether they were exchanged. */
    def sides(l: Expression, r: Expression): Option[(Expression, Expression, Boolean)] =
      if (isOf(l, left) && isOf(r, right)) Some((l, r, false))
      else Option.when(isOf(r, left) && isOf(l, right))((r, l, true))
    val conditions = one.conditions.map(_.transform { case replaced: RuntimeReplaceable => replaced.replacement })
    var keys = Seq.empty[(Expression, Expression, Boolean)] // with: NULLs are equal
    var times = Seq.empty[(Expression, Boolean)] // of left rows, with: an equal time is no match
    var (bounds, ofLeft, others) = (Seq.empty[Expression], Seq.empty[Expression], Seq.empty[Expression])
    conditions.foreach {
      case EqualTo(l, r) if sides(l, r).isDefined => keys :+= sides(l, r).map(s => (s._1, s._2, false)).get
      case EqualNullSafe(l, r) if sides(l, r).isDefined => keys :+= sides(l, r).map(s => (s._1, s._2, true)).get
      case bound @ Compared(l, r, isBefore, strict) if sides(l, r).exists(_._2.semanticEquals(one.time)) =>
        // whether the time of the left row is the earlier one
        val leftIsBefore = isBefore != sides(l, r).get._3
        if (leftIsBefore == one.forward) times :+= sides(l, r).get._1 -> strict else bounds :+= bound
      case condition if isOf(condition, left) => ofLeft :+= condition
      case condition => others :+= condition
    }
    val expressions = conditions ++ one.ties.map(_.child) ++ one.results :+ one.time
    times match {
      case Seq((leftTime, strict))
          if others.isEmpty && left.isStreaming && right.isStreaming &&
            left.outputSet.intersect(right.outputSet).isEmpty &&
            leftTime.dataType == one.time.dataType && AsOfRows.isTime(leftTime.dataType) &&
            keys.forall { case (l, r, _) => l.dataType == r.dataType && KeyBytes.groupable(l.dataType) } &&
            expressions.forall(_.deterministic) && !(conditions.diff(bounds) :+ one.time).exists(CanThrow(_)) &&
            bounds.forall(bound => !CanThrow(bound) || CanThrow.onlyByOverflow(bound)) =>
        // so a left row with a NULL finds nothing
        val present = (keys.filterNot(_._3).map(_._2) :+ time).map(IsNotNull(_): Expression).reduce(And(_, _))
        val asOf = AsOf(
          left,
          Filter(present, right),
          keys.map(_._1),
          keys.map(_._2),
          ofLeft.reduceOption(And(_, _)).fold(leftTime)(If(_, leftTime, Literal(null, leftTime.dataType))),
          time,
          one.ties,
          one.forward,
          strict,
          outer
        )
        val bound = bounds.reduceOption(And(_, _))
        if (!outer) Some((
          bound.fold[LogicalPlan](asOf)(Filter(_, asOf)),
          one.results.map(_.transform {
            case OfMatch(value) => value
          })
        ))
        else {
          // without a match, the bound is not computed
          val isNear = bound.map(b => Alias(If(IsNotNull(time), b, Literal.FalseLiteral), "isNear")())
          val has = isNear.fold[Expression](IsNotNull(time))(_.toAttribute)
          Some((
            isNear.fold[LogicalPlan](asOf)(near => Project(asOf.output :+ near, asOf)),
            one.results.map(_.transform { case OfMatch(value) => If(has, value, Literal(null, value.dataType)) })
          ))
        }
      case _ => None
    }
  }

  /** A subquery as the one row that it returns, if it is the first one of an order, or consists of
    * `MAX_BY` or `MIN_BY` by one expression.
    */
  private def oneRow(plan: LogicalPlan): Option[OneRow] = plan match {
    case Project(list, child) => oneRow(child).flatMap(above(list, child, _))
    case SubqueryAlias(_, child) => oneRow(child)
    case GlobalLimit(IntegerLiteral(1), LocalLimit(IntegerLiteral(1), child)) => first(child)
    case Aggregate(Nil, results, child, _) => extreme(results, child)
    case _ => None
  }

  /** The first row of an ordered plan. */
  private def first(plan: LogicalPlan): Option[OneRow] = plan match {
    case sort: Sort if sort.global && !sort.order.exists(isCorrelated) =>
      // columns that are computed below the order are computed of the one row alone, too
      val (columns, child) = sort.child match {
        case Project(list, child) if !list.exists(isCorrelated) => (list.map(valueOf), child)
        case child => (child.output, child)
      }
      val written = AttributeMap(sort.child.output.zip(columns))
      val order = sort.order.map(_.transformUp { case a: Attribute => written.getOrElse(a, a) }.asInstanceOf[SortOrder])
      for {
        (rows, conditions) <- uncorrelated(child)
        time <- order.headOption
      } yield OneRow(
        rows,
        conditions,
        time.child,
        forward = time.direction == Ascending,
        order.tail,
        columns.map(OfMatch),
        always = false
      )
    case Project(list, child) => first(child).flatMap(above(list, child, _))
    case SubqueryAlias(_, child) => first(child)
    case _ => None
  }

  /** The one row below a projection of it: below a LIMIT, all of a column is a value of the row;
    * above an aggregate, only the functions are.
    */
  private def above(list: Seq[NamedExpression], child: LogicalPlan, one: OneRow): Option[OneRow] =
    Option.unless(list.exists(isCorrelated)) {
      val columns = AttributeMap(child.output.zip(one.results))
      one.copy(results = list.map(valueOf).map { value =>
        if (one.always) value.transformUp { case a: Attribute => columns.getOrElse(a, a) }
        else OfMatch(value.transformUp { case a: Attribute => columns.get(a).fold[Expression](a)(_.children.head) })
      })
    }

  /** The values of `MAX_BY` or `MIN_BY` as those of one row. */
  private def extreme(results: Seq[NamedExpression], child: LogicalPlan): Option[OneRow] = {
    val functions = results.flatMap(_.collect { case f: AggregateExpression => f }).distinctBy(_.canonicalized)
    val values = functions.map {
      case f @ AggregateExpression(MaxBy(value, order), Complete, false, None, _) => Some((f, value, order, false))
      case f @ AggregateExpression(MinBy(value, order), Complete, false, None, _) => Some((f, value, order, true))
      case _ => None
    }
    for {
      _ <- Option.when(values.nonEmpty && values.forall(_.isDefined) && !results.exists(isCorrelated))(())
      (_, _, time, forward) = values.head.get
      _ <- Option.when(values.flatten.forall { case (_, _, order, least) =>
        order.semanticEquals(time) && least == forward
      })(())
      (rows, conditions) <- uncorrelated(child)
    } yield {
      val found = results.map(valueOf(_).transformUp {
        case f: AggregateExpression => OfMatch(values.flatten.find(_._1.semanticEquals(f)).get._2)
      })
      OneRow(rows, conditions, time, forward, Nil, found, always = true)
    }
  }

  private def valueOf(column: NamedExpression): Expression = column match {
    case Alias(value, _) => value
    case other => other
  }

  private def isCorrelated(e: Expression): Boolean = e.exists {
    case _: OuterReference => true
    case s: SubqueryExpression => s.isCorrelated
    case _ => false
  }

  /** The rows of a plan without the conditions that read columns of the outer rows, and these
    * conditions. The columns that they read are added to the output.
    */
  private def uncorrelated(plan: LogicalPlan): Option[(LogicalPlan, Seq[Expression])] = plan match {
    case SubqueryAlias(_, child) => uncorrelated(child)
    case Filter(condition, child) =>
      val (ofBoth, own) = splitConjunctivePredicates(condition).partition(isCorrelated)
      uncorrelated(child).map { case (rows, conditions) =>
        val here = ofBoth.map(_.transform { case OuterReference(a) => a })
        (own.reduceOption(And(_, _)).fold(rows)(Filter(_, rows)), conditions ++ here)
      }
    case Project(list, child) if !list.exists(e => isCorrelated(e) || CanThrow(e)) =>
      uncorrelated(child).map { case (rows, conditions) =>
        val read = rows.outputSet.intersect(AttributeSet.fromAttributeSets(conditions.map(_.references)))
        val missing = rows.output.filter(a => read.contains(a) && !list.exists(_.exprId == a.exprId))
        (Project(list ++ missing, rows), conditions)
      }
    case other => Option.when(!other.exists(_.expressions.exists(isCorrelated)))((other, Nil))
  }
}
