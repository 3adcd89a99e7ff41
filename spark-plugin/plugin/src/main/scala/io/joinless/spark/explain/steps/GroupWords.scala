package io.joinless.spark.explain.steps

import io.joinless.spark.explain.ReadableSql
import io.joinless.spark.plans.nodes.Groups
import io.joinless.spark.plans.values.BestRows
import io.joinless.spark.spec.{FunctionKind, FunctionSpec}
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId, Expression, Not}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Generate, LogicalPlan, Project, Union}

/** Groups as a step: those of a GROUP BY, DISTINCT, LIMIT, or of the keys of a join.
  *
  * @param sql names the columns below
  * @param alias the name that the query gives to a column of the groups
  */
final private[steps] class GroupWords(groups: Groups, sql: ReadableSql, alias: ExprId => Option[String]) {
  import GroupWords._

  private val best = firstRows(groups)
  private val functions = groups.shape.functions.map(f => sql(f.text))
  private val asOf = groups.shape.isAsOf
  private val ofKey = groups.shape.isKey
  private val ofMatches = groups.purpose.isDefined && best.isEmpty && !asOf && !ofKey
  private val inAll = groups.shape.columns.isEmpty

  def step(below: Step): Step = {
    val reads = costs.distinct
    Step(
      title,
      if (ofMatches) sides(below).toSeq else Nil,
      Some(stored),
      Some(if (reads.nonEmpty) reads.mkString("; ") else if (inAll) OneRow else s"$OneRow per group"),
      if (reads.isEmpty || asOf) Step.Change else if (inAll && best.isEmpty) Step.All else Step.Group,
      Seq(if (ofMatches && below.role == Step.Union) below.copy(title = "Keys of both sides") else below),
      role = if (ofMatches) Step.Matches else if (inAll && best.isEmpty && !asOf) Step.OneRow else Step.Rows
    )
  }

  private def title: String = (groups.purpose, functions) match {
    case (Some(purpose), _) if best.isDefined || asOf || ofKey => ordered(purpose)
    case (Some(_), several) if inAll =>
      if (several.size == 1) "Whether there are rows" else "Whether there are rows, and NULLs"
    case (Some(_), _) => s"Whether ${keys.mkString(", ")} ${if (keys.size == 1) "has" else "have"} a match"
    case (None, Seq()) => s"DISTINCT ${named(keys).mkString(", ")}"
    case _ if inAll => s"Total: ${named(functions, keys.size).mkString(", ")}"
    case _ => s"GROUP BY ${named(keys).mkString(", ")}: ${named(functions, keys.size).mkString(", ")}"
  }

  private def keys: Seq[String] = groups.shape.columns.map(c => sql(c.name))

  /** Columns of the groups with the names that the query gives them. */
  private def named(texts: Seq[String], from: Int = 0): Seq[String] = texts.zipWithIndex.map { case (text, i) =>
    alias(groups.output(from + i).exprId).filterNot(text.split('.').last == _).fold(text)(name => s"$text AS $name")
  }

  private def stored: String = best match {
    case Some(rows) if rows.limit.isDefined && !groups.shape.holdsValues => "these rows"
    case Some(_) => "each of its rows"
    case None if asOf => "each row of both sides, by its time"
    case None if ofKey => "the row of each key"
    case None =>
      val row = if (inAll) "one row" else "one row per group"
      val values = groups.shape.functions.filter(_.values).map(f => sql.arguments(f.text))
      if (values.isEmpty) row else s"$row, and the different values of ${values.distinct.mkString(", ")}"
  }

  /** The costs that are more than one row. */
  private def costs: Seq[String] = groups.shape.functions.zip(groups.functions.map(_.function)).flatMap {
    case (spec, rows: BestRows) if spec.values && rows.limit.isDefined =>
      Some("rarely more than a row: once many of the first have been deleted, all are looked through")
    case (FunctionSpec(_, FunctionKind.AsOf, _, _), _) => Some("a search by time, and one for each result that changes")
    case (spec, _) if spec.values => cost(spec)
    case _ => None
  }

  private def cost(spec: FunctionSpec): Option[String] = {
    val values = if (inAll) "all values" else "the values of the group"
    spec.kind match {
      case FunctionKind.Least => Some(s"where the least value is deleted, ${sql(spec.text)} searches $values")
      case FunctionKind.Greatest => Some(s"where the greatest value is deleted, ${sql(spec.text)} searches $values")
      case FunctionKind.Recomputed => Some(s"${sql(spec.text)} is computed anew over $values")
      case _ => None
    }
  }

  /** Which columns of the sides of a join are equal where there is a match. */
  private def sides(below: Step): Option[String] =
    unionBelow(groups.child).filter(_ => below.role == Step.Union).map { union =>
      val (left, right) = (union.children.head, union.children.last)
      val equal = groups.shape.columns.indices.map { i =>
        val sides = Seq(left, right).map(side => ReadableSql.above(side).apply(of(side.output(i), side)))
        sides.distinct.mkString(" = ")
      }
      s"by ${equal.mkString(", ")}"
    }
}

private[steps] object GroupWords {
  private val OneRow = "one read and one write"

  private def firstRows(groups: Groups): Option[BestRows] =
    groups.functions.map(_.function).collectFirst { case rows: BestRows => rows }

  /** The groups right below projections and conditions. */
  def below(plan: LogicalPlan): Option[Groups] = plan match {
    case Project(_, child) => below(child)
    case Filter(_, child) => below(child)
    case generate: Generate => below(generate.child)
    case groups: Groups => Some(groups)
    case _ => None
  }

  /** The parts of the first rows of all, which are groups of their own. */
  def parts(groups: Groups): Option[Groups] = for {
    best <- firstRows(groups)
    parts <- below(groups.child)
    if groups.shape.columns.isEmpty && parts.shape.columns.size == 1 && parts.purpose.isDefined
    ofParts <- firstRows(parts)
    if best.limit.isDefined && ofParts.limit == best.limit
  } yield parts

  /** The title of groups that say which keys have a match, where a condition keeps those that have
    * one, or those that have none.
    */
  def ofMatches(groups: Groups, condition: Expression): Option[String] = {
    val keys = groups.output.take(groups.shape.columns.size)
    val flags = groups.output.slice(keys.size, groups.output.size - 2) // the last ones: of the left side, the weight
    def isFlag(e: Expression) = e.references.nonEmpty && e.references.forall(a => flags.exists(_.exprId == a.exprId))
    val isAbsent = condition.exists { case Not(e) => isFlag(e); case _ => false }
    val names = keys.map(key => ReadableSql.above(groups.child).apply(key)).mkString(", ")
    val read = condition.references.exists(a => flags.exists(_.exprId == a.exprId))
    Option.when(firstRows(groups).isEmpty && keys.nonEmpty && read)(
      if (isAbsent) s"$names without a match" else s"$names with a match"
    )
  }

  /** An order in words, without what is the default. */
  def ordered(purpose: String): String = {
    val short =
      purpose.replace(", ordered by ", " by ").replace(" ASC NULLS FIRST", "").replace(" DESC NULLS LAST", " DESC")
    short.take(1).toUpperCase + short.drop(1)
  }

  /** The union right below projections and blocks of one relation. */
  private def unionBelow(plan: LogicalPlan): Option[Union] = plan match {
    case union: Union => Some(union)
    case other if other.children.size == 1 && !other.isInstanceOf[Groups] => unionBelow(other.children.head)
    case _ => None
  }

  /** The expression of which a plan makes a column. */
  private def of(column: Attribute, plan: LogicalPlan): Expression = plan match {
    case Project(list, child) =>
      list.find(_.exprId == column.exprId).map(_.children).collect {
        case Seq(a: Attribute) => of(a, child)
        case Seq(other) => other
      }.getOrElse(of(column, child))
    case Filter(_, child) => of(column, child)
    case _ => column
  }
}
