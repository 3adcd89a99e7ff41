package io.joinless.spark.rules.meaning

import java.nio.file.Paths

import io.joinless.spark.plans.nodes.{Groups, InTime, JoinFreeJoin}
import io.joinless.spark.plans.values.WindowFunctions
import io.joinless.spark.rules.blocks.{Conditions, OuterScope, RelationNames}
import io.joinless.spark.spec.{BlockShape, OriginSpec, Sha256}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  BoundReference,
  Expression,
  Literal,
  NamedExpression,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.{
  Expand,
  Filter,
  LocalRelation,
  LogicalPlan,
  Project,
  Range,
  SubqueryAlias,
  View
}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.joinless.{StaticSource, StreamLeaf}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.CalendarInterval

/** The rows of a compiled plan, as a digest that is equal in every run of the same query, and
  * differs where the rows may differ.
  *
  * Columns are identified by position, sources by the names and types of their columns, and by
  * their names in the query where they have no location. Ids, names of results, join trees and
  * placements do not occur in it.
  */
private[spark] object RowsDigest {

  /** The digest of a plan's rows, and the locations of its sources.
    *
    * @param more other texts that decide on the rows
    */
  def origin(plan: LogicalPlan, more: Seq[String] = Nil): OriginSpec = {
    val all = (TimeZones.in(plan).toSeq ++ more :+ text(plan)).mkString("\n")
    OriginSpec(Sha256(all), places(plan), once = readsOnce(plan))
  }

  /** The locations of a plan's sources, as far as they have one. */
  def places(plan: LogicalPlan): IndexedSeq[String] = plan.collectLeaves().flatMap(place).toIndexedSeq

  /** Whether a part of the rows, not below another stateful operator, is read once. */
  private def readsOnce(plan: LogicalPlan): Boolean = plan match {
    case StaticSource(_) => true
    case _: JoinFreeJoin | _: Groups => false
    case other => other.children.exists(readsOnce)
  }

  /** The text of a plan's rows, of which the digest is made. */
  private def text(plan: LogicalPlan): String = {
    def below = plan.children.map(text).mkString("(", ", ", ")")
    plan match {
      case SubqueryAlias(_, child) => text(child)
      case View(_, _, child, _) => text(child)
      case LocalRelation(_, data, _, _) => data.map(_.toSeq(plan.schema)).mkString("rows ", ", ", "")
      case StaticSource(static) =>
        val rows = static.plan.transform { case range: Range => range.copy(numSlices = None) }
        s"static ${TimeZones.in(rows).mkString} ${text(rows)}"
      case source if source.children.isEmpty => leaf(source)
      case join: JoinFreeJoin =>
        val residuals = join.residuals.zip(join.shape.residuals).map { case (condition, spec) =>
          parameter(condition, Nil) + spec.columns.map(c => s"${c.relation}.${c.ordinal}").mkString("(", ", ", ")")
        }
        s"join ${block(join.shape)} ${residuals.sorted.mkString(", ")}$below"
      case groups: Groups =>
        s"groups ${groups.shape.text} ${groups.shape.functions.map(_.kind.name).mkString(", ")}$below"
      // the operators above record by which time rows are late
      case InTime(_, _, expand: Expand) => text(expand)
      case InTime(_, lag, stream) =>
        val times = stream.output.filter(Conditions.isEventTime)
        s"${plan.nodeName} ${parameters(Iterator(times, lag, stream), stream.output)}$below"
      case Filter(condition, child) =>
        val conditions = Conditions.conjuncts(condition).map(parameter(_, child.output))
        s"filter ${conditions.distinct.sorted.mkString(", ")}$below"
      case other =>
        val columns = other.children.flatMap(_.output)
        s"${name(other)}${other.nodeName} ${parameters(other.productIterator, columns)}$below"
    }
  }

  /** The name in the query of a source without a location. */
  private def name(plan: LogicalPlan): String = plan match {
    case _: Project if places(plan).isEmpty => RelationNames.called(plan).fold("")(_ + ": ")
    case _ => ""
  }

  /** A stream by its columns; a static table by Spark's description of it, without ids. */
  private def leaf(source: LogicalPlan): String = {
    val columns = source.output.map(a => s"${a.name} ${a.dataType.sql}").mkString("[", ", ", "]")
    if (source.isStreaming) columns else source.simpleString(MaxColumns).replaceAll("#\\d+L?", "") + columns
  }

  final private val MaxColumns = 10000

  /** The locations of a source. A path in the local file system is made absolute, as the query may
    * give it relative to the working folder.
    */
  private def place(source: LogicalPlan): Seq[String] = source match {
    case StreamLeaf(stream) => stream.place.toSeq.map { place =>
        val givenPath =
          stream.options.collectFirst { case (key, value) if key.equalsIgnoreCase("path") => new Path(value).toUri }
        givenPath.filter(uri => stream.table.isEmpty && (uri.getScheme == null || uri.getScheme == "file"))
          .fold(place)(uri => Paths.get(uri.getPath).toAbsolutePath.normalize.toString)
      }
    case StaticSource(static) => static.places
    case _ => Nil
  }

  /** All that decides on the rows of a block, by position. */
  private def block(shape: BlockShape): String = {
    def listed(texts: Seq[String]) = texts.mkString("[", ", ", "]")
    val relations = shape.relations.map { r =>
      val kind = shape.inputs(r.input).kind.name
      s"${r.input} $kind ${listed(r.keys.map(k => s"${k.attribute}=${k.ordinal}"))}"
    }
    val columns = shape.output.map(c => s"${c.relation}.${c.ordinal}")
    Seq(relations, shape.attributes.map(_.nullSafe.toString), shape.constants.getOrElse(Nil), columns).map(listed)
      .mkString(" ")
  }

  /** The parameters of an operator, in brackets.
    *
    * @param columns those that its expressions read, which are replaced by their positions
    */
  private def parameters(values: Iterator[Any], columns: Seq[Attribute]): String =
    values.map(parameter(_, columns)).mkString("[", ", ", "]")

  /** A parameter of an operator, as far as it decides on rows; of any other object, its class. */
  private def parameter(value: Any, columns: Seq[Attribute]): String = value match {
    case _: LogicalPlan => ""
    case Alias(child, _) => parameter(child, columns)
    case e: Expression => expression(e, columns)
    case windows: WindowFunctions => parameters(windows.productIterator, columns)
    case several: Iterable[_] => parameters(several.iterator, columns)
    case some: Option[_] => parameters(some.iterator, columns)
    case plain @ (_: String | _: Number | _: Boolean | _: DataType | _: JoinType | _: CalendarInterval) =>
      plain.toString
    case other => other.getClass.getSimpleName
  }

  /** An expression with the properties that its text does not contain: its type, flags and options
    * of functions, plans of subqueries.
    */
  private def expression(e: Expression, columns: Seq[Attribute]): String = {
    def column(name: String, original: Expression) = AttributeReference(name, original.dataType)()
    val positional = OuterScope.replace(e) { a =>
      val i = columns.indexWhere(_.exprId == a.exprId)
      if (i < 0) a.withQualifier(Nil) else column(s"c$i", a)
    }.transform { case bound @ BoundReference(i, _, _) => column(s"b$i", bound) }
    val hidden = e.collect {
      case _: NamedExpression | _: BoundReference | _: Literal => Nil
      case subquery: SubqueryExpression => Seq(text(subquery.plan))
      case function => function.productIterator.collect {
          case flag: Boolean => flag.toString
          case options: Map[_, _] => options.map(_.toString).toSeq.sorted.mkString
        }.toSeq
    }.flatten
    s"${ExpressionTexts.plain(positional)} ${e.dataType.sql} ${hidden.mkString(" ")}"
  }
}
