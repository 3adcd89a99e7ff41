package io.joinless.spark.explain

import scala.annotation.tailrec
import scala.util.Try

import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.reasons.WindowTexts
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedExtractValue, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Expressions as the user would write them: few brackets, no casts between numbers, LIKE in place
  * of the functions that Spark makes of it, and columns by their names in the query.
  *
  * Compiled queries name columns by texts such as `r2.o_total` or `sum((r1.x * 2BD))`, in quotes
  * where they are nested. They are read as expressions here, and written again.
  *
  * @param called a relation for people, by its name in such texts
  * @param isAmbiguous whether a column of this name needs the name of its relation
  */
final private[explain] class ReadableSql(
    called: String => String = identity,
    isAmbiguous: String => Boolean = _ => false
) extends PredicateHelper {
  import ReadableSql._

  def apply(expression: Expression): String = written(expression).text

  /** A text that a compiled query has for an expression or a column. */
  def apply(text: String): String = read(text).text

  private def read(text: String): Sql = {
    val plain = withoutUnions(WindowTexts.short(text))
    parsed(plain).fold(Sql(plain, Levels.Whole))(written)
  }

  /** The arguments of a function, of which a compiled query has this text. */
  def arguments(function: String): String = parsed(withoutUnions(WindowTexts.short(function))) match {
    case Some(f: UnresolvedFunction) => f.arguments.map(apply).mkString(", ")
    case _ => apply(function)
  }

  /** The conditions that a reader needs: without those which say that a column of another one, or of
    * a key, is not NULL, as Spark adds them.
    *
    * @param keys columns that are never NULL below
    */
  def conditions(condition: Expression, keys: Seq[Expression] = Nil): Seq[String] = {
    val (notNull, others) = splitConjunctivePredicates(condition).partition(_.isInstanceOf[IsNotNull])
    val read = others.flatMap(_.collect { case a: Attribute => a }) ++ keys
    val needed = notNull.filterNot(_.references.forall(a => read.exists(_.semanticEquals(a))))
    val all = others ++ needed
    (if (all.size == 1) all.map(apply) else all.map(inside(_, Levels.And))).distinct
  }

  private def written(e: Expression): Sql = e match {
    case name: UnresolvedAttribute => column(name.nameParts.last, name.nameParts.init.lastOption.map(called))
    case UnresolvedExtractValue(_, Literal(field: UTF8String, _)) => column(field.toString, None)
    case attribute: Attribute => column(attribute.name, attribute.qualifier.lastOption)
    case Literal(value, dataType) => literal(e, value, dataType)
    case Alias(child, _) => written(child)
    case cast: Cast if isHidden(cast) => written(cast.child)
    case or: Or if alternatives(or).isDefined => written(alternatives(or).get)
    case If(flag, Literal.TrueLiteral, Literal(null, _)) => written(flag)
    case Or(a, b) => infix("OR", Levels.Or, a, b)
    case And(a, b) => infix("AND", Levels.And, a, b)
    case Not(EqualTo(a, b)) => compared("<>", a, b)
    case Not(IsNull(child)) => postfix(child, "IS NOT NULL")
    case Not(child @ (_: Like | _: In | _: InSet | _: StringPredicate | _: UnresolvedFunction)) =>
      val positive = written(child)
      val negative = "( LIKE '| IN \\()".r.replaceFirstIn(positive.text, " NOT$1")
      if (positive.level == Levels.Compared && negative != positive.text) Sql(negative, positive.level)
      else Sql(s"NOT ${inside(child, Levels.Not)}", Levels.Not)
    case Not(child) => Sql(s"NOT ${inside(child, Levels.Not)}", Levels.Not)
    case IsNull(child) => postfix(child, "IS NULL")
    case IsNotNull(child) => postfix(child, "IS NOT NULL")
    case EqualNullSafe(a, b) => compared("<=>", a, b)
    case in: In => Sql(s"${inside(in.value, Levels.Sum)} IN (${in.list.map(apply).mkString(", ")})", Levels.Compared)
    case InSet(child, values) =>
      val listed = values.toSeq.map(v => apply(Literal(v, child.dataType))).sorted
      Sql(s"${inside(child, Levels.Sum)} IN (${listed.mkString(", ")})", Levels.Compared)
    case StartsWith(child, Literal(text: UTF8String, _)) => like(child, s"$text%")
    case EndsWith(child, Literal(text: UTF8String, _)) => like(child, s"%$text")
    case Contains(child, Literal(text: UTF8String, _)) => like(child, s"%$text%")
    case Like(child, Literal(text: UTF8String, _), _) => like(child, text.toString)
    case comparison: BinaryComparison => compared(comparison.sqlOperator, comparison.left, comparison.right)
    case sum @ (_: Add | _: Subtract) => infix(operator(sum), Levels.Sum, sum.children.head, sum.children(1))
    case product @ (_: Multiply | _: Divide | _: Remainder | _: IntegralDivide) =>
      infix(operator(product), Levels.Product, product.children.head, product.children(1))
    case UnresolvedFunction(
          Seq(Matching(before, after)),
          Seq(child, Literal(text: UTF8String, _)),
          false,
          _,
          _,
          _,
          _
        ) =>
      like(child, s"$before$text$after")
    case function: UnresolvedFunction => Sql(ofFunction(function), Levels.Whole)
    case aggregate: AggregateExpression => written(aggregate.aggregateFunction)
    case order: SortOrder => Sql(ofOrder(order), Levels.Whole)
    case other =>
      val children = other.children.map(child => Written(apply(child), Try(child.dataType).getOrElse(StringType)))
      Sql(Try(other.withNewChildren(children).sql).getOrElse(other.prettyName), Levels.Whole)
  }

  /** A column by its name, or by the text of the expression that it is. */
  private def column(name: String, owner: Option[String]): Sql =
    if (isName(name)) Sql(owner.filter(_ => isAmbiguous(name)).fold("")(_ + ".") + name, Levels.Whole)
    else read(name)

  private def infix(operator: String, level: Int, a: Expression, b: Expression): Sql =
    Sql(s"${inside(a, level)} $operator ${inside(b, if (level < Levels.Sum) level else level + 1)}", level)

  private def compared(operator: String, a: Expression, b: Expression): Sql =
    Sql(s"${inside(a, Levels.Sum)} $operator ${inside(b, Levels.Sum)}", Levels.Compared)

  private def postfix(child: Expression, operator: String): Sql =
    Sql(s"${inside(child, Levels.Sum)} $operator", Levels.Compared)

  private def like(child: Expression, pattern: String): Sql =
    Sql(s"${inside(child, Levels.Sum)} LIKE '$pattern'", Levels.Compared)

  /** The text of a part, in brackets where it binds less than what is around it. */
  private def inside(e: Expression, level: Int): String = {
    val sql = written(e)
    if (sql.level < level) s"(${sql.text})" else sql.text
  }

  private def ofFunction(function: UnresolvedFunction): String = {
    val name = function.nameParts.last
    val arguments = function.arguments match {
      case Seq(Literal(1, _)) if name == "count" => "*"
      case several => several.map(apply).mkString(", ")
    }
    val filter = function.filter.fold("")(condition => s" FILTER (WHERE ${apply(condition)})")
    s"$name(${if (function.isDistinct) "DISTINCT " else ""}$arguments)$filter"
  }

  /** Without the place of NULLs where it is the default. */
  private def ofOrder(order: SortOrder): String = {
    val direction = if (order.direction == Descending) " DESC" else ""
    val nulls = if (order.nullOrdering == order.direction.defaultNullOrdering) "" else s" ${order.nullOrdering.sql}"
    apply(order.child) + direction + nulls
  }

  private def literal(e: Expression, value: Any, dataType: DataType): Sql = {
    val text = dataType match {
      case _ if value == null => "NULL"
      case _: DecimalType | DoubleType => plainNumber(value.toString)
      case ByteType | ShortType | IntegerType | LongType | BooleanType => value.toString
      case _ => e.sql
    }
    Sql(text, if (text.startsWith("-")) Levels.Product else Levels.Whole)
  }
}

private[explain] object ReadableSql extends PredicateHelper {

  /** How columns are named above a plan: as in the nearest join below.
    *
    * @param called a relation of a join for people; None for one whose columns no name needs
    */
  def above(
      plan: LogicalPlan,
      called: (BlockShape, Int) => Option[String] = (b, r) => Some(b.relations(r).name)
  ): ReadableSql =
    plan match {
      case join: JoinFreeJoin => of(join.shape, called(join.shape, _))
      case other if other.children.size == 1 && !other.isInstanceOf[Groups] => above(other.children.head, called)
      case _ => new ReadableSql()
    }

  /** The names of the columns of a block's relations. */
  def of(shape: BlockShape, called: Int => Option[String]): ReadableSql = {
    val names = shape.relations.indices.flatMap(r => called(r).map(r -> _)).toMap
    val byText = names.flatMap { case (r, name) => Seq(shape.relations(r).name -> name, s"r${r + 1}" -> name) }
    val columns = names.keys.toSeq.flatMap(r => shape.stored(shape.relations(r)).map(_.name).distinct)
    new ReadableSql(name => byText.getOrElse(name, name), columns.diff(columns.distinct).toSet)
  }

  /** How close operators bind. */
  private object Levels {
    val Or = 1; val And = 2; val Not = 3; val Compared = 4; val Sum = 5; val Product = 6; val Whole = 7
  }

  /** @param level of its outermost operator */
  final private case class Sql(text: String, level: Int)

  /** An expression of which only the text is known. */
  final private case class Written(text: String, override val dataType: DataType)
      extends LeafExpression
      with Unevaluable {
    override def nullable: Boolean = true
    override def sql: String = text
  }

  /** Functions that Spark makes of LIKE: what is before and after their text in a pattern. */
  private object Matching {
    def unapply(function: String): Option[(String, String)] =
      Map("startswith" -> ("" -> "%"), "endswith" -> ("%" -> ""), "contains" -> ("%" -> "%")).get(function)
  }

  private val Identifier = "[A-Za-z_][A-Za-z_0-9]*".r

  /** Whether a name is one that a query can have without quotes. */
  def isName(name: String): Boolean = Identifier.matches(name)

  /** Whether a value is true or NULL, as columns are that say from which side of a join a row is. */
  def isFlag(value: Expression): Boolean = value match {
    case Or(_, Literal(null, _)) | If(_, Literal.TrueLiteral, Literal(null, _)) => true
    case _ => false
  }

  /** Numbers are cast to the type of the other side; that is no part of a query's meaning. */
  private def isHidden(cast: Cast): Boolean = cast.dataType match {
    case _: DecimalType | ByteType | ShortType | IntegerType | LongType | DoubleType =>
      !cast.child.resolved || !cast.child.dataType.isInstanceOf[StringType]
    case _ => false
  }

  private def operator(e: Expression): String = e match {
    case binary: BinaryOperator => binary.sqlOperator
    case other => other.prettyName
  }

  private def parsed(text: String): Option[Expression] = Try(CatalystSqlParser.parseExpression(text)).toOption.filter {
    case name: UnresolvedAttribute => name.nameParts != Seq(text) || isName(text)
    case _: Alias => false // a name of two words
    case _ => true
  }

  /** The text with a column of the first part in place of each column of a union, which compiled
    * queries call by the texts of all parts; and without the names of relations before brackets.
    */
  @tailrec private def withoutUnions(text: String): String = {
    val (ofUnion, union) = (text.indexOf(OfUnion), text.indexOf(Union))
    if (ofUnion >= 0) {
      val end = afterBracket(text, ofUnion + OfUnion.indexOf("("))
      withoutUnions(text.take(ofUnion) + text.drop(end))
    } else if (union >= 0) {
      val open = opening(text, union)
      withoutUnions(text.take(open) + text.substring(open + 1, union) + text.drop(afterBracket(text, open)))
    } else BeforeBracket.replaceAllIn(text, "")
  }

  private val OfUnion = " of (SELECT "
  private val Union = " UNION ALL "
  private val BeforeBracket = "\\br\\d+\\.(?=[('\\d])".r

  /** The position of the last bracket before `at` that is still open there; 0 if there is none. */
  private def opening(text: String, at: Int): Int = {
    val depth = text.take(at).reverse.scanLeft(0)((d, c) => if (c == ')') d + 1 else if (c == '(') d - 1 else d)
    val length = depth.indexOf(-1)
    if (length < 0) 0 else at - length
  }

  /** The alternatives of a column in several groupings, by which compiled queries call it. */
  private def alternatives(e: Expression): Option[Expression] = {
    def isNull(e: Expression): Boolean = e match {
      case Literal(null, _) => true
      case cast: Cast => isNull(cast.child)
      case _ => false
    }
    val values = splitDisjunctivePredicates(e)
    val isNumber = values.forall { case Literal(_: Int, _) => true; case _ => false }
    if (values.size == 1) None
    else if (isNumber) Some(UnresolvedAttribute(Seq("grouping_id")))
    else Option.when(values.exists(isNull) || values.distinct.size == 1)(values.find(!isNull(_)).getOrElse(values.head))
  }

  /** The position after the bracket that closes the one at `open`; the end where none does. */
  private def afterBracket(text: String, open: Int): Int =
    Some(WindowTexts.closing(text, open)).filter(_ >= 0).getOrElse(text.length)

  private def plainNumber(text: String): String = Try(BigDecimal(text).bigDecimal.stripTrailingZeros.toPlainString)
    .getOrElse(text)
}
