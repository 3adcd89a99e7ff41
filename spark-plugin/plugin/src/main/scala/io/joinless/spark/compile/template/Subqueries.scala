package io.joinless.spark.compile.template

import io.joinless.spark.plans.failures.SingleValue
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.AnyOf
import io.joinless.spark.rules.blocks.{Names, OuterScope}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count, First, Max}
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.SCALAR_SUBQUERY

/** Rewrites subqueries over streams as joins.
  *
  * Spark's own rules make joins of IN, EXISTS and correlated subqueries. An uncorrelated scalar
  * subquery is one row that is joined with each row; where it is no GROUP BY of all rows, its value
  * is the greatest value of its rows, and their number is checked.
  */
private[compile] object Subqueries extends PredicateHelper {

  /** Whether a subquery of the plan has a stream. */
  def has(plan: LogicalPlan): Boolean = plan.subqueriesAll.exists(_.isStreaming)

  /** The plan of a subquery with expression ids of its own. Spark renews the ids of tables, but not
    * those of a stream that the outer query reads, too: there `a = outer(b)` could become `a = a`.
    */
  def renewed(plan: LogicalPlan): LogicalPlan = {
    val defined = plan.collect { case node =>
      node.expressions.flatMap(_.collect { case alias: Alias => alias.toAttribute }) ++ node.producedAttributes
    }.flatten ++ plan.collectLeaves().flatMap(_.output)
    val fresh = defined.map(_.exprId).distinct.map(_ -> NamedExpression.newExprId).toMap
    def withFreshId(a: Attribute): Attribute = fresh.get(a.exprId).fold(a)(a.withExprId)
    def column(a: Attribute): NamedExpression =
      fresh.get(a.exprId).fold[NamedExpression](a)(Alias(a, a.name)(_, a.qualifier))
    plan.transformUp { case node =>
      OuterScope.replaceIn(node)(withFreshId).transformExpressions {
        case alias: Alias if fresh.contains(alias.exprId) =>
          Alias(alias.child, alias.name)(
            fresh(alias.exprId),
            alias.qualifier,
            alias.explicitMetadata,
            alias.nonInheritableMetadataKeys
          )
        case s: LateralSubquery =>
          s.withNewPlan(Project(s.plan.output.map(column), s.plan)) // its columns are the plan's
      }
    }
  }

  /** An optimized plan with joins in place of its subqueries; columns that nothing needs may
    * remain.
    */
  def joined(plan: LogicalPlan): LogicalPlan =
    anyOfGroup(RewritePredicateSubquery(plan)).transformUp {
      case node if node.containsPattern(SCALAR_SUBQUERY) && scalars(node.expressions).nonEmpty => withScalars(node)
    }

  /** The plan with names that are equal in every run: Spark puts ids into the names of columns by
    * which a subquery is correlated.
    */
  def named(plan: LogicalPlan): LogicalPlan = {

    /** The name without an id at its end. */
    def own(name: String) = name.replaceFirst("#[0-9]+$", "")
    plan.transformAllExpressions {
      case alias: Alias if own(alias.name) != alias.name => alias.withName(own(alias.name))
      case a: AttributeReference if own(a.name) != a.name => a.withName(own(a.name))
    }
  }

  /** Spark takes the first EXISTS flag of a group in which all are equal: any will do. */
  private def anyOfGroup(plan: LogicalPlan): LogicalPlan = {
    val flags = plan.collect { case Join(_, _, ExistenceJoin(exists), _, _) => exists.exprId }.toSet
    plan.transformAllExpressions {
      case First(flag: Attribute, _) if flags(flag.exprId) => Max(flag)
    }
  }

  /** The uncorrelated scalar subqueries over streams in expressions. */
  private def scalars(expressions: Seq[Expression]): Seq[ScalarSubquery] =
    expressions.flatMap(_.collect { case s: ScalarSubquery if s.plan.isStreaming && !s.isCorrelated => s })

  /** An operator in which the values of scalar subqueries are columns: its child is joined with the
    * one row of each.
    * {{{
    * SELECT s FROM t               SELECT v FROM t JOIN (the row v of s)
    * WHERE a > s                   the same, with a > v above the join
    * t JOIN u ON a > s             t JOIN u, the rows; then a > v above
    * t LEFT JOIN u ON a > s        t JOIN the row, LEFT JOIN u ON a > v
    * SUM(a + s), GROUP BY s        the aggregate's child is joined
    * HAVING, SUM(a) + s            the aggregate without s, joined, below a projection that adds v
    * ORDER BY a - s LIMIT 9        t JOIN the row, the first 9 by a - v
    * explode(array(a, s))          t JOIN the row, explode(array(a, v))
    * }}}
    * All other operators keep their subqueries. Later steps refuse them.
    */
  private def withScalars(node: LogicalPlan): LogicalPlan = node match {
    case Filter(condition, child) =>
      val found = new Scalars(Seq(condition))
      Project(child.output, Filter(found.replaced(condition), found.joinedTo(child)))
    case Project(list, child) =>
      val found = new Scalars(list)
      Project(list.map(found.in), found.joinedTo(child))
    case Join(left, right, kind: InnerLike, Some(condition), hint) =>
      val found = new Scalars(Seq(condition))
      val all = found.joinedTo(Join(left, right, kind, None, hint))
      Project(node.output, Filter(found.replaced(condition), all))
    case join @ Join(left, right, kind, Some(condition), hint) =>
      // the one row is joined with each row of the preserved side
      val found = new Scalars(Seq(condition))
      val (l, r) = if (kind == RightOuter) (left, found.joinedTo(right)) else (found.joinedTo(left), right)
      Project(join.output, Join(l, r, kind, Some(found.replaced(condition)), hint))
    case first: FirstRows =>
      val found = new Scalars(first.order)
      val order = first.order.map(found.replaced(_).asInstanceOf[SortOrder])
      Project(first.output, first.copy(order = order, child = found.joinedTo(first.child)))
    case generate: Generate =>
      val found = new Scalars(Seq(generate.generator))
      val generator = found.replaced(generate.generator).asInstanceOf[Generator]
      Project(generate.output, generate.copy(generator = generator, child = found.joinedTo(generate.child)))
    case aggregate @ Aggregate(keys, results, child, hint) =>
      val inside = keys ++ results.flatMap(_.collect { case f: AggregateExpression => f })
      if (scalars(inside).nonEmpty) {
        val found = new Scalars(inside)
        withScalars(Aggregate(
          keys.map(found.replaced),
          results.map(_.transform {
            case f: AggregateExpression => found.replaced(f)
            case e if keys.exists(_.semanticEquals(e)) => found.replaced(e)
          }.asInstanceOf[NamedExpression]),
          found.joinedTo(child),
          hint
        ))
      } else if (scalars(results).isEmpty) aggregate
      else {
        val parts = results.flatMap(_.collect { case f: AggregateExpression => f }).distinctBy(_.canonicalized)
        val values = (keys ++ parts).map {
          case a: Attribute => a
          case value => Alias(value, Names.of(value))()
        }

        /** The expression over the output of the aggregate, in which its keys and functions are
          * columns.
          */
        def above(e: Expression): Expression = e.transformDown {
          case part if (keys ++ parts).exists(_.semanticEquals(part)) =>
            values((keys ++ parts).indexWhere(_.semanticEquals(part))).toAttribute
        }
        withScalars(Project(
          results.map {
            case a: Alias => a.withNewChildren(Seq(above(a.child))).asInstanceOf[NamedExpression]
            case column => column
          },
          Aggregate(keys, values, child, hint)
        ))
      }
    case other => other
  }

  /** Scalar subqueries as columns of rows that are joined with others. */
  final private class Scalars(expressions: Seq[Expression]) {
    private val found = scalars(expressions).distinctBy(_.canonicalized)
    private val rows = found.map(row)

    /** The expression with the column of its value in place of each subquery. */
    def replaced(e: Expression): Expression = e.transform {
      case s: ScalarSubquery if found.exists(_.semanticEquals(s)) =>
        rows(found.indexWhere(_.semanticEquals(s))).output.head
    }

    def in(column: NamedExpression): NamedExpression = replaced(column).asInstanceOf[NamedExpression]

    /** The plan with each of its rows joined with the one row of each subquery. */
    def joinedTo(child: LogicalPlan): LogicalPlan =
      rows.foldLeft(child)(Join(_, _, Inner, None, JoinHint.NONE))
  }

  /** One row of one column: the value.
    * {{{
    * a GROUP BY of all rows     its row
    * EXISTS                     the constant, or NULL without rows
    * anything else              the greatest value, and the number of rows, which is checked
    * }}}
    */
  private def row(subquery: ScalarSubquery): LogicalPlan = joined(subquery.plan) match {
    case plan if isOneRow(plan) => Project(Seq(Alias(plan.output.head, plan.output.head.name)()), plan)
    case AnyRow(value, child) =>
      val any = AnyOf.row
      val rows = Aggregate(Nil, Seq(any), child)
      Project(Seq(Alias(If(any.toAttribute, value, Literal(null, value.dataType)), "value")()), rows)
    case plan =>
      val value = Alias(Max(plan.output.head).toAggregateExpression(), "value")()
      val count = Alias(Count(Literal(1)).toAggregateExpression(), "rows")()
      val single = SingleValue(value.toAttribute, count.toAttribute)
      Project(Seq(Alias(single, plan.output.head.name)()), Aggregate(Nil, Seq(value, count), plan))
  }

  /** Whether a plan has exactly one row: it is a GROUP BY without columns, below projections. */
  private def isOneRow(plan: LogicalPlan): Boolean = plan match {
    case Project(_, child) => isOneRow(child)
    case Aggregate(keys, _, _, _) => keys.isEmpty
    case _ => false
  }

  /** Spark's form of an uncorrelated EXISTS: a constant for the first row, if there is one. Limits
    * and projections stand in any sequence.
    */
  private object AnyRow {
    def unapply(plan: LogicalPlan): Option[(Expression, LogicalPlan)] = {
      val (projections, limits) = steps(plan).partition(_.isInstanceOf[Project])
      projections.headOption.collect {
        case Project(Seq(Alias(value, _)), _) if value.foldable && limits.nonEmpty => (value, rows(plan))
      }
    }

    /** The limits and projections at the top of a plan, from above. */
    private def steps(plan: LogicalPlan): List[LogicalPlan] =
      Step.unapply(plan).fold(List.empty[LogicalPlan])(below => plan :: steps(below))

    /** The plan below its limits and projections. */
    private def rows(plan: LogicalPlan): LogicalPlan = Step.unapply(plan).fold(plan)(rows)

    /** A limit to one row, or a projection. */
    private object Step {
      def unapply(plan: LogicalPlan): Option[LogicalPlan] = plan match {
        case GlobalLimit(IntegerLiteral(1), child) => Some(child)
        case LocalLimit(IntegerLiteral(1), child) => Some(child)
        case Project(_, child) => Some(child)
        case _ => None
      }
    }
  }

  /** A LEFT SINGLE join as a LEFT JOIN: a row of its left side that has several matches fails. The
    * new right side has one row per value that the condition compares, with the number of its rows,
    * which is checked.
    */
  def leftSingle(join: Join): Either[Reason, LogicalPlan] = {

    /** Whether an expression reads columns of this side only, and some. */
    def of(e: Expression, side: LogicalPlan) = e.references.nonEmpty && e.references.subsetOf(side.outputSet)

    /** The operand that reads the right side, if the other one reads the left side. */
    def compared(l: Expression, r: Expression): Option[Expression] =
      if (of(l, join.left) && of(r, join.right)) Some(r)
      else Option.when(of(r, join.left) && of(l, join.right))(l)
    val (others, equated) = splitConjunctivePredicates(join.condition.getOrElse(Literal.TrueLiteral)).partitionMap {
      case condition @ EqualTo(l, r) => compared(l, r).toRight(condition)
      case condition @ EqualNullSafe(l, r) => compared(l, r).toRight(condition)
      case condition => Left(condition)
    }
    if (equated.isEmpty || !others.forall(_.references.subsetOf(join.left.outputSet))) Left(Reason.of(
      Reason.OuterJoin,
      "type" -> join.joinType.sql,
      "why" -> "it must have one row for each row, and equi-join conditions alone do not say which"
    ))
    else {
      val keys = equated.distinctBy(_.canonicalized).map {
        case column: Attribute => column -> column
        case computed => computed -> Alias(computed, Names.of(computed))()
      }
      val count = Alias(Count(Literal(1)).toAggregateExpression(), "rows")()
      val values = join.right.output.filterNot(a => keys.exists(_._1.semanticEquals(a)))
      val greatest = values.map(a => Alias(Max(a).toAggregateExpression(), a.name)())
      val groups = Aggregate(keys.map(_._1), keys.map(_._2) ++ greatest :+ count, join.right)
      val condition = join.condition.map(_.transformDown {
        case e if keys.exists(_._1.semanticEquals(e)) => keys.find(_._1.semanticEquals(e)).get._2.toAttribute
      })
      val valueOf = AttributeMap(values.zip(greatest.map(_.toAttribute)))
      val checked = join.right.output.map { a =>
        Alias(SingleValue(valueOf.getOrElse(a, a), count.toAttribute), a.name)(a.exprId, a.qualifier)
      }
      Right(Project(join.left.output ++ checked, Join(join.left, groups, LeftOuter, condition, join.hint)))
    }
  }
}
