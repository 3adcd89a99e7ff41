package io.joinless.spark.source

import io.joinless.spark.errors.{JoinlessErrors, Suggestion}
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.CommittedTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Column, DataFrame}

/** The rows of complete results that have given values, as conditions that scans take
  * ([[EqualValues]]).
  *
  * Values are compared as they are, NULL with NULL. A value of another type than its column is
  * cast, if the cast back gives the same value; otherwise no row could have it, and it is an error.
  */
object Lookups {

  /** More keys are joined instead of being listed. */
  final val MostListed = 1000

  /** The rows with one value in each of some columns.
    *
    * @param values constants
    */
  def apply(df: DataFrame, names: Seq[String], values: Seq[Column]): DataFrame =
    having(df, checked(df, names), constants(df, values))

  /** The same of literals. */
  def of(df: DataFrame, names: Seq[String], literals: Seq[Literal]): DataFrame =
    having(df, checked(df, names), literals)

  /** The rows whose values in the columns of `keys` are those of one of its rows. Up to
    * `MostListed` keys are read now, and listed; more are joined.
    */
  def apply(df: DataFrame, keys: DataFrame): DataFrame = {
    if (keys.isStreaming) throw JoinlessErrors.lookup("STREAM")
    val columns = checked(df, keys.columns.toSeq)
    columns.zip(keys.schema).foreach { case (column, key) =>
      if (key.dataType != NullType && !isComparable(key.dataType, column.dataType)) throw JoinlessErrors.lookup(
        "KEY_TYPE",
        "column" -> column.name,
        "type" -> key.dataType.sql,
        "columnType" -> column.dataType.sql
      )
    }
    val few = Plans.rows(keys.distinct().limit(MostListed + 1))
    if (few.size > MostListed) {
      val output = Plans.analyzed(keys).output.zip(columns).map { case (key, column) =>
        Alias(collated(key, column.dataType), key.name)()
      }
      val more = Project(output, Plans.analyzed(keys))
      Plans.dataFrame(df, semiJoin(Plans.analyzed(df), columns, more))
    } else {
      val literals = few.map { row =>
        columns.zip(keys.schema).zipWithIndex.map { case ((column, field), i) =>
          exactly(column, Literal(row.get(i, field.dataType), field.dataType))
        }
      }
      val lists = columns.indices.map(i => isOneOf(columns(i), literals.map(_(i))))
      val listed = Filter(lists.reduce(And(_, _)), Plans.analyzed(df))
      // lists of several columns also have combinations that are no key
      val found =
        if (columns.size == 1) listed
        else {
          val local = columns.map(c => AttributeReference(c.name, c.dataType)())
          semiJoin(listed, columns, LocalRelation(local, literals.map(key => InternalRow(key.map(_.value): _*))))
        }
      Plans.dataFrame(df, found)
    }
  }

  /** How often a row is in a result, by the values of all columns. */
  def weight(df: DataFrame, names: Seq[String], values: Seq[Column]): BigInt =
    ResultsOnDemand.count(having(df, whole(df, names), constants(df, values)))

  /** The rows that are equal to a row, which has a value for each column. */
  def ofRow(df: DataFrame, names: Seq[String], literals: Seq[Literal]): DataFrame =
    having(df, whole(df, names), literals)

  /** The same for a row that is given as a DataFrame. */
  def ofRow(df: DataFrame, row: DataFrame): DataFrame = {
    val _ = whole(df, row.columns.toSeq)
    apply(df, row)
  }

  /** The columns of a row; an error if it lacks one. */
  private def whole(df: DataFrame, names: Seq[String]): Seq[Attribute] = {
    val columns = checked(df, names)
    val missing = Plans.analyzed(df).output.filterNot(column => columns.exists(_.exprId == column.exprId))
    if (missing.nonEmpty) throw JoinlessErrors.lookup("ROW", "columns" -> missing.map(_.name).mkString(", "))
    columns
  }

  private def having(df: DataFrame, columns: Seq[Attribute], literals: Seq[Literal]): DataFrame = {
    val conditions = columns.zip(literals).map[Expression] { case (column, value) =>
      EqualNullSafe(column, exactly(column, value))
    }
    Plans.dataFrame(df, Filter(conditions.reduce(And(_, _)), Plans.analyzed(df)))
  }

  private def constants(df: DataFrame, values: Seq[Column]): Seq[Literal] =
    Plans.analyzed(df.sparkSession.range(1).select(values: _*)).expressions.collect {
      case Alias(value, _) => Literal(value.eval(), value.dataType)
    }

  private def semiJoin(rows: LogicalPlan, columns: Seq[Attribute], keys: LogicalPlan): LogicalPlan = {
    val same = columns.zip(keys.output).map { case (column, key) => EqualNullSafe(column, key) }
    Join(rows, keys, LeftSemi, Some(same.reduce[Expression](And(_, _))), JoinHint.NONE)
  }

  /** Texts by the rules of the column: Spark does not choose between those of two columns. */
  private def collated(key: Expression, of: DataType): Expression = (key.dataType, of) match {
    case (_: StringType, _: StringType) => Cast(key, of)
    case _ => key
  }

  private def isOneOf(column: Attribute, values: Seq[Literal]): Expression = {
    val (nulls, others) = values.distinct.partition(_.value == null)
    val conditions = Option.when(others.nonEmpty)(In(column, others)) ++ Option.when(nulls.nonEmpty)(IsNull(column))
    conditions.reduceOption[Expression](Or(_, _)).getOrElse(Literal.FalseLiteral)
  }

  /** The columns of these names; an error where `df` is no complete result. */
  private def checked(df: DataFrame, names: Seq[String]): Seq[Attribute] = {
    if (!Inspection.hasExtension(df.sparkSession)) throw JoinlessErrors.extensionNotInstalled()
    if (df.isStreaming) throw JoinlessErrors.lookup("STREAM")
    val plan = Plans.analyzed(df)
    // a reference to WITH stands for a relation of the plan itself, whose leaves are looked at
    val areCommitted =
      plan.collectLeaves().forall(leaf => leaf.isInstanceOf[CTERelationRef] || CommittedTable.isReadBy(leaf))
    if (!areCommitted) throw JoinlessErrors.lookup("NO_RESULT")
    if (names.isEmpty) throw JoinlessErrors.lookup("NO_COLUMN")
    names.map(column(plan, _))
  }

  /** The column of a name; an error where there is none, or where there are several. */
  def column(plan: LogicalPlan, name: String): Attribute =
    plan.output.filter(column => SQLConf.get.resolver(column.name, name)) match {
      case Seq(column) => column
      case Seq() => throw JoinlessErrors.lookup(
          "UNKNOWN_COLUMN",
          "column" -> name,
          "columns" -> plan.output.map(_.name).mkString(", "),
          "suggestion" -> Suggestion.sentence(name, plan.output.map(_.name))
        )
      case _ => throw JoinlessErrors.lookup("AMBIGUOUS_COLUMN", "column" -> name)
    }

  /** The value as one of the column's type. */
  private def exactly(column: Attribute, constant: Literal): Literal = {
    def cast(value: Literal, dataType: DataType): Literal =
      Literal(Cast(value, dataType, Some(SQLConf.get.sessionLocalTimeZone), EvalMode.TRY).eval(), dataType)
    if (constant.dataType == column.dataType) constant
    else if (constant.value == null) Literal(null, column.dataType)
    else {
      val value = Option.when(isComparable(constant.dataType, column.dataType))(cast(constant, column.dataType))
      value.filter(v => v.value != null && cast(v, constant.dataType) == constant).getOrElse(
        throw JoinlessErrors.lookup(
          "VALUE",
          "value" -> constant.sql,
          "type" -> constant.dataType.sql,
          "column" -> column.name,
          "columnType" -> column.dataType.sql
        )
      )
    }
  }

  /** Whether values of a type can be meant as values of the other: as for an INSERT, and text as a
    * date or time.
    */
  private def isComparable(from: DataType, to: DataType): Boolean = Cast.canANSIStoreAssign(from, to) || (from match {
    case _: StringType => Seq(DateType, TimestampType, TimestampNTZType).contains(to)
    case _ => false
  })
}
