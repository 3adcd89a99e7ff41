package io.joinless.spark.compile

import io.joinless.spark.compile.streams.{Emission, GroupCompiler}
import io.joinless.spark.compile.streams.GroupCompiler.Purpose
import io.joinless.spark.compile.template.{DeltaScope, OuterChains, StoredInput, Subqueries, UnionParts}
import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.AnyOf
import io.joinless.spark.rules.blocks.{Conditions, Names}
import io.joinless.spark.rules.extract.StaticSides
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types.BooleanType

/** Rewrites joins that depend on whether a row has a match as inner joins with groups: later steps
  * need no other kind of join.
  *
  * Let `L` and `R` be joined by the key `k`. A group per value of `k` stores whether `L` has rows
  * with it and whether `R` has:
  * {{{
  * P = SELECT k, ANY(of L), ANY(of R) FROM (the keys of L UNION ALL the keys of R) GROUP BY k
  * }}}
  *   - LEFT SEMI, EXISTS, IN: `L` joins the distinct keys of `R`;
  *   - LEFT ANTI, NOT EXISTS: `L` joins those keys of `P` that `R` does not have;
  *   - EXISTS as a value: `L` joins `P`, whose flag of `R` is the value;
  *   - LEFT OUTER: `L` joins `R` and, for each key of `P` that `R` does not have, a row of NULLs;
  *   - NOT IN: as NOT EXISTS, and a second group stores whether `R` has rows and whether it has
  *     NULLs.
  *
  * A condition beyond equi-join conditions makes the columns of `L` that it reads part of the key:
  * the keys of `R` are then those of the distinct keys of `L` joined with `R`. So state stays
  * linear in `L` and `R`: rows of `L` and `R` once, and a group per key.
  *
  * The joins with `P` are null-safe, as each row of `L` has its key in it. Additional keys do no
  * harm, so the keys are read from the relation that has them, below the joins of `L`. Where `L`
  * has them from several relations, its result is an input ([[StoredInput]]): the join would be a
  * cycle.
  *
  * @param emission when the rows of the joins are emitted
  * @param random why the streams of a plan are not the same when they are read twice, if they are
  *   not
  */
final private[compile] class MatchJoins(emission: Emission, random: LogicalPlan => Option[Reason])(implicit
    statics: StaticSides
) {
  import MatchJoins._

  /** The plan in which all joins of streams are inner joins. */
  def inner(plan: LogicalPlan): Either[Reason, LogicalPlan] = {
    var reason: Option[Reason] = None
    val changed = plan.transformUp {
      case join: Join if reason.isEmpty && Conditions.joinsStreams(join) =>
        join.joinType match {
          case _: InnerLike => if (readAgain(join).isEmpty) emission.ofParts(join) else join
          case _ =>
            readAgain(join).map(Left(_)).getOrElse(ofParts(join)).fold(r => { reason = Some(r); join }, identity)
        }
    }
    reason.toLeft(changed)
  }

  /** Why the sides of a join are not the same when they are read twice, if they are not. */
  private def readAgain(join: Join): Option[Reason] = {
    val expressions = join.condition.toSeq ++ Seq(join.left, join.right).flatMap(_.collect {
      case node => node.expressions
    }.flatten)
    DeltaScope.changing(expressions).orElse(random(join))
  }

  /** Rewrites each part of a left side by itself. A right join is a left join with its sides
    * exchanged; a full join is a left join, and the rows of the right side that have no match.
    */
  private def ofParts(join: Join): Either[Reason, LogicalPlan] = join.joinType match {
    case RightOuter =>
      ofParts(Join(join.right, join.left, LeftOuter, join.condition, join.hint)).map(Project(join.output, _))
    case FullOuter =>
      val leftJoin = Join(join.left, join.right, LeftOuter, join.condition, join.hint)
      val ofRightAlone = anti(withPairs(join.right, join.left, join.condition))
      ofParts(leftJoin).map(Union(_, Project(nulls(join.left.output) ++ join.right.output, ofRightAlone)))
    case _ =>
      val parts = emission.parts(join.left)
      val (refused, plans) = parts.map { part =>
        rewritten(UnionParts.of(join, part, join.right))
      }.partitionMap(identity)
      refused.headOption.toLeft(if (plans.size == 1) plans.head else Union(plans))
  }

  /** Rewrites a join one of whose sides may have a row without a match; the joins that replace it
    * are inner joins.
    */
  private def rewritten(join: Join): Either[Reason, LogicalPlan] =
    join.joinType match {
      case LeftSemi => Right(semi(Sides(join.left, join.right, join.condition)))
      case LeftAnti => Right(anti(Sides(join.left, join.right, join.condition)))
      case ExistenceJoin(exists) => Right(flag(Sides(join.left, join.right, join.condition), exists))
      case LeftOuter =>
        val decidedBy = join.getTagValue(OuterChains.decidedBy).map(inner(_)).getOrElse(Right(join.right))
        decidedBy.map(outer(join, _))
      case LeftSingle => Subqueries.leftSingle(join).flatMap(inner(_))
      case other =>
        Left(Reason.of(Reason.OuterJoin, "type" -> other.sql, "why" -> "its rows cannot be kept up to date"))
    }

  /** The sides of a join whose matched pairs are emitted, too. */
  private def withPairs(left: LogicalPlan, right: LogicalPlan, condition: Option[Expression]): Sides =
    Sides(left, right, condition).copy(pairsEmitted = emission.isFinal)

  /** A LEFT JOIN, as described above. Where the right side is a join or has parts, its pairs are an
    * inner join, and the rows without a match are added to them; else rows of NULLs are added to
    * the right side, and joined as its rows are.
    *
    * @param decidedBy the part of the right side that decides whether a row has a match; the whole
    *     right side where that is no join
    */
  private def outer(join: Join, decidedBy: LogicalPlan): LogicalPlan = {
    val Join(left, right, _, condition, _) = join
    val parts = emission.parts(right)
    if (parts.size > 1 || holdsJoin(right)) {
      val pairs = parts.map { part =>
        Project(left.output ++ part.output, UnionParts.of(join, left, part).copy(joinType = Inner))
      }
      Union(pairs :+ Project(left.output ++ nulls(right.output), anti(withPairs(left, decidedBy, condition))))
    } else {
      val sides = withPairs(left, right, condition)
      val matches = ofMatches(sides)
      val absent = Filter(Not(matches.flags.head), matches.plan)
      val (keys, read) = matches.keys.splitAt(sides.keys.size)
      val filled = Alias(Literal.FalseLiteral, "filled")()
      val real = Project(
        named(sides.keys.map(_.right)) ++ read.map(nothing) ++ (filled +: right.output),
        sides.right
      )
      val padded = Project(keys ++ read ++ (Alias(Literal.TrueLiteral, "filled")() +: nulls(right.output)), absent)
      val rows = Union(real, padded)
      val (k, others) = rows.output.splitAt(keys.size)
      val (c, isFilled) = (others.take(read.size), others(read.size))
      val residual = sides.residual.reduceOption(And(_, _)).map(e =>
        If(isFilled, same(sides.read, c).reduceOption(And(_, _)).getOrElse(Literal.TrueLiteral), e)
      )
      val all = joined(reachable(sides), rows, same(sides.keys.map(_.left), k) ++ residual)
      all.setTagValue(KeySource.keepsLeft, ())
      Project(left.output ++ right.output, all)
    }
  }
}

private[compile] object MatchJoins {

  /** `left = right`, each over its side; `<=>` where `nullSafe`. */
  final private case class Key(left: Expression, right: Expression, nullSafe: Boolean) {

    /** The condition that two values are equal under this key. */
    def equals(a: Expression, b: Expression): Expression = if (nullSafe) EqualNullSafe(a, b) else EqualTo(a, b)
  }

  /** The two sides of a join, with the parts of its condition.
    *
    * @param right without the rows that match no row
    * @param residual conditions on both sides that are no equi-join conditions
    * @param pairsEmitted Matched pairs are emitted too, once each; errors are raised there. So keys
    *   that are joined with the right side need not be distinct: they have as many matches as these
    *   pairs
    */
  final private case class Sides(
      left: LogicalPlan,
      right: LogicalPlan,
      keys: Seq[Key],
      residual: Seq[Expression],
      pairsEmitted: Boolean = false
  ) {

    /** The columns of the left side that the residual conditions read. */
    val read: Seq[Attribute] = AttributeSet(residual).filter(left.outputSet.contains).toSeq.sortBy(left.output.indexOf)

    /** The values by which a row of the left side looks up whether it has a match. */
    val wanted: Seq[Expression] = keys.map(_.left) ++ read

    /** A plan that has all wanted values of the left side, and their expressions over it. It has no
      * additional values where an expression could fail.
      */
    def source: (LogicalPlan, Seq[Expression]) =
      if ((wanted ++ onPairs).exists(CanThrow(_))) KeySource.ofSameRows(left, wanted) else KeySource(left, wanted)

    /** The residual conditions as they are evaluated to find out whether there are pairs: a value
      * that is too large has no match.
      */
    def onPairs: Seq[Expression] =
      residual.map(e => if (pairsEmitted && CanThrow(e) || CanThrow.onlyByOverflow(e)) TryEval(e) else e)
  }

  private object Sides {

    /** Splits a condition: conditions on the right side alone become a filter there, equi-join
      * conditions and conditions on the left side alone become keys, all others are residual.
      */
    def apply(left: LogicalPlan, right: LogicalPlan, condition: Option[Expression]): Sides = {
      val conditions = condition.toSeq.flatMap(Conditions.conjuncts)
      val all = right match {
        // Spark reads one row where any row will do
        case LocalLimit(IntegerLiteral(limit), child) if limit > 0 && conditions.isEmpty => child
        case other => other
      }
      val (ofRight, others) = conditions.partition(of(_, right))
      // an expression that can fail is evaluated where the equi-join conditions hold, as in Spark
      val (ofBoth, ofLeft) = others.partition(e => e.references.exists(right.outputSet.contains) || CanThrow(e))
      val split = ofBoth.map {
        case e @ Equality(a, b) =>
          val (l, r) = KeyBytes.unwrapped(a, b)
          val nullSafe = e.isInstanceOf[EqualNullSafe]
          if (of(l, left) && of(r, right)) Right(Key(l, r, nullSafe))
          else if (of(r, left) && of(l, right)) Right(Key(r, l, nullSafe))
          else Left(e)
        case other => Left(other)
      }
      // a condition on the left side alone is a key that must be true
      val keys = split.collect { case Right(key) => key } ++ ofLeft.map(Key(_, Literal.TrueLiteral, nullSafe = false))
      val noNulls = keys.filter(key => !key.nullSafe && key.right.nullable).map(key => IsNotNull(key.right))
      Sides(left, where(ofRight ++ noNulls, all), keys, split.collect { case Left(e) => e })
    }
  }

  /** Whether an expression reads columns, and those of this side only. */
  private def of(e: Expression, side: LogicalPlan): Boolean =
    e.references.nonEmpty && e.references.subsetOf(side.outputSet)

  /** The plan with these conditions; without any, the plan itself. */
  private def where(conditions: Seq[Expression], plan: LogicalPlan): LogicalPlan =
    conditions.reduceOption(And(_, _)).fold(plan)(Filter(_, plan))

  /** The values as columns with new ids, under the names of their expressions. */
  private def named(values: Seq[Expression]): Seq[Alias] = values.map(value => Alias(value, Names.of(value))())

  /** The values of the left side over another plan; an event time stays one. */
  private def named(values: Seq[Expression], wanted: Seq[Expression]): Seq[Alias] = named(values).zip(wanted).map {
    case (value, a: Attribute) => Alias(value.child, value.name)(value.exprId, explicitMetadata = Some(a.metadata))
    case (value, _) => value
  }

  private def attributes(columns: Seq[NamedExpression]): Seq[Attribute] = columns.map(_.toAttribute)

  /** An inner join on these conditions. */
  private def joined(left: LogicalPlan, right: LogicalPlan, conditions: Seq[Expression]): LogicalPlan =
    Join(left, right, Inner, conditions.reduceOption(And(_, _)), JoinHint.NONE)

  /** The conditions that the values are pairwise equal, NULL being equal to NULL. */
  private def same(left: Seq[Expression], right: Seq[Expression]): Seq[Expression] =
    left.zip(right).map { case (l, r) => EqualNullSafe(l, r) }

  /** The keys of the right side, as the keys of the left side that match them: an attribute per
    * wanted value. With residual conditions, these are the wanted values of the left side, each
    * once, joined with the right side; where pairs are emitted and no join is below, values may be
    * repeated.
    */
  private def matched(sides: Sides): LogicalPlan =
    if (sides.residual.isEmpty) Project(named(sides.keys.map(_.right)), sides.right)
    else {
      val (plan, values) = sides.source
      val wantedRows = Project(named(values, sides.wanted), plan)
      val keys =
        if (sides.pairsEmitted && !plan.exists(_.isInstanceOf[Join])) wantedRows
        else Aggregate(wantedRows.output, wantedRows.output, wantedRows)
      val keyOfColumn =
        sides.read.zip(keys.output.drop(sides.keys.size)).map { case (column, key) => column.exprId -> key }.toMap
      val residual = sides.onPairs.map(_.transform { case a: Attribute => keyOfColumn.getOrElse(a.exprId, a) })
      val onKeys = sides.keys.zip(keys.output).map { case (key, k) => key.equals(k, key.right) }
      Project(keys.output.map(a => Alias(a, a.name)()), joined(keys, sides.right, onKeys ++ residual))
    }

  /** The left side in a form that can be joined by its wanted values. */
  private def reachable(sides: Sides): LogicalPlan =
    if (KeySource.isOneRelation(sides.left, sides.wanted)) sides.left else StoredInput(sides.left)

  /** The rows of the left side that have a match: a join with the matched keys, each once. */
  private def semi(sides: Sides): LogicalPlan = {
    val rows = matched(sides)
    val matchedKeys =
      if (sides.wanted.isEmpty) present(rows)
      else if (isDistinct(rows)) rows
      else Aggregate(rows.output, rows.output, rows)
    val (keys, read) = matchedKeys.output.splitAt(sides.keys.size)
    val onKeys = sides.keys.zip(keys).map { case (key, k) => key.equals(key.left, k) }
    Project(sides.left.output, joined(reachable(sides), matchedKeys, onKeys ++ same(sides.read, read)))
  }

  /** Whether the plan itself implies that all rows differ. */
  private def isDistinct(rows: LogicalPlan): Boolean = rows.distinctKeys.exists(_.subsetOf(ExpressionSet(rows.output)))

  /** One row without columns, if there are rows. */
  private def present(rows: LogicalPlan): LogicalPlan = {
    val any = AnyOf.row
    Project(Nil, Filter(any.toAttribute, Aggregate(Nil, Seq(any), rows)))
  }

  /** Groups by the wanted values of the left side.
    *
    * @param keys the attributes of these values, in their order
    * @param flags an attribute for each column behind the keys of the right side: TRUE where one of
    *   its rows for these values has TRUE there
    */
  final private case class Presence(plan: LogicalPlan, keys: Seq[Attribute], flags: Seq[Attribute])

  /** Rows of both sides in groups by the wanted values: those of the left side with NULL flags, so
    * that a value without a match has a group, too. Groups of the right side alone are dropped.
    * Without wanted values there is one group, of the right side.
    *
    * @param right the keys of the right side, followed by columns that are true or NULL
    */
  private def presence(sides: Sides, right: LogicalPlan): Presence = {
    val keyCount = sides.wanted.size
    def flag(a: Attribute) = Alias(AnyOf(a).toAggregateExpression(), a.name)()
    if (keyCount == 0) {
      val flags = right.output.map(flag)
      val single = Aggregate(Nil, flags, right)
      single.setTagValue(GroupCompiler.purpose, Purpose.matches("all rows in one group, whether there are any"))
      Presence(single, Nil, attributes(flags))
    } else {
      val (plan, values) = sides.source
      val flags = right.output.drop(keyCount)
      val ofLeft = Project(
        named(values, sides.wanted) ++ flags.map(nothing) :+ isThere("left"),
        plan
      )
      val union = Union(ofLeft, Project(right.output :+ nothing(isThere("left")), right))
      val (keys, others) = union.output.splitAt(keyCount)
      val anyFlags = others.map(flag)
      val groups = Aggregate(keys, keys ++ anyFlags, union)
      groups.setTagValue(
        GroupCompiler.purpose,
        Purpose.matches(s"by ${keys.map(_.name).mkString(", ")}, whether the other side of the join has such rows")
      )
      val ofLeftRows = Filter(anyFlags.last.toAttribute, groups)
      Presence(ofLeftRows, keys, attributes(anyFlags.init))
    }
  }

  /** Groups that store whether the right side has a match. */
  private def ofMatches(sides: Sides): Presence = {
    val rows = matched(sides)
    presence(sides, Project(rows.output :+ isThere("right"), rows))
  }

  /** The rows of the left side that have no match: a join with the keys whose groups have none, so
    * that a row is emitted again when the last match of its key is deleted.
    */
  private def anti(sides: Sides): LogicalPlan = sides match {
    case NotIn(value, among, others) => notIn(others, value, among)
    case _ =>
      val matches = ofMatches(sides)
      val absent = Project(matches.keys, Filter(Not(matches.flags.head), matches.plan))
      Project(sides.left.output, joined(reachable(sides), absent, same(sides.wanted, matches.keys)))
  }

  /** The rows of the left side with the column `exists`, which is true where a row has a match. */
  private def flag(sides: Sides, exists: Attribute): LogicalPlan = {
    val matches = ofMatches(sides)
    val rows = joined(reachable(sides), matches.plan, same(sides.wanted, matches.keys))
    Project(sides.left.output :+ Alias(matches.flags.head, exists.name)(exists.exprId), rows)
  }

  /** A column that is true in the right rows; in all other rows it is [[nothing]]. */
  private def isThere(name: String): Alias = Alias(Literal.TrueLiteral, name)()

  /** A column of NULLs with the name and type of another. */
  private def nothing(like: NamedExpression): Alias = Alias(Literal(null, like.dataType), like.name)()

  /** NULLs with the types and names of columns. */
  private def nulls(columns: Seq[Attribute]): Seq[NamedExpression] =
    columns.map(a => Alias(Literal(null, a.dataType), a.name)(a.exprId, a.qualifier))

  /** Whether the rows are the result of a join, not stored anywhere. */
  private def holdsJoin(plan: LogicalPlan): Boolean = plan match {
    case _: Join => true
    case Project(_, child) => holdsJoin(child)
    case Filter(_, child) => holdsJoin(child)
    case _ => false
  }

  /** `value NOT IN (SELECT among ...)`: neither equal, nor unknown whether equal. */
  private object NotIn {

    /** The value, the column of the subquery, and the sides without this condition. */
    def unapply(sides: Sides): Option[(Expression, Expression, Sides)] = sides.residual match {
      case Seq(Or(EqualTo(a, b), IsNull(EqualTo(c, d)))) if a.semanticEquals(c) && b.semanticEquals(d) =>
        val rest = sides.copy(residual = Nil)
        if (of(a, sides.left) && of(b, sides.right)) Some((a, b, rest))
        else if (of(b, sides.left) && of(a, sides.right)) Some((b, a, rest))
        else None
      case _ => None
    }
  }

  /** The rows of the left side for which `value NOT IN (among)` is true, over the rows of the right
    * side for which the other keys match:
    * {{{
    * no such rows                     true
    * among is NULL in one of them     not true, whatever the value is
    * else                             true where the value is not NULL and equal to none
    * }}}
    */
  private def notIn(sides: Sides, value: Expression, among: Expression): LogicalPlan = {
    val equal = sides.copy(
      right = Filter(IsNotNull(among), sides.right),
      keys = sides.keys :+ Key(value, among, nullSafe = false)
    )
    val matches = ofMatches(equal)
    val absent = Project(matches.keys, Filter(Not(matches.flags.head), matches.plan))
    val ofOthers = presence(
      sides,
      Project(
        named(sides.keys.map(_.right)) :+ isThere("right") :+
          Alias(If(IsNull(among), Literal.TrueLiteral, Literal(null, BooleanType)), "null")(),
        sides.right
      )
    )
    val Seq(anyRow, anyNull) = ofOthers.flags: @unchecked
    val isTrue = Or(Not(anyRow), And(Not(anyNull), IsNotNull(value)))
    val noneEqual = joined(reachable(equal), absent, same(equal.wanted, matches.keys))
    Project(sides.left.output, Filter(isTrue, joined(noneEqual, ofOthers.plan, same(sides.wanted, ofOthers.keys))))
  }
}
