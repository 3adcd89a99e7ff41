package io.joinless.spark.compile.streams

import io.joinless.spark.compile.template.DeltaScope
import io.joinless.spark.plans.nodes.Groups
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.{AnyOf, AsOfRows, BestRows, DeltaForm, FunctionOfRows, GroupFunction, OnlyRow}
import io.joinless.spark.rules.blocks.Names
import io.joinless.spark.rules.counts.{Demand, FunctionArguments, WeightedRows}
import io.joinless.spark.rules.counts.FunctionArguments.{argument, isRecomputed, recomputed, takesSums}
import io.joinless.spark.rules.meaning.{LeafSource, RowsDigest, TimeZones}
import io.joinless.spark.spec.{ColumnSpec, FactorLift, FunctionKind, FunctionSpec, GroupShape, TimeSpec}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types._

/** Turns a GROUP BY (or a DISTINCT) over weighted rows into a stateful node ([[Groups]]).
  *
  * Arguments of functions become columns: a function counts or sums those that are not NULL, so a
  * FILTER is a condition on the argument, and COUNT of several columns counts where none is NULL.
  */
private[compile] object GroupCompiler {

  /** The purpose of an [[Aggregate]] that the query does not have; for explain. */
  val purpose: TreeNodeTag[Purpose] = TreeNodeTag[Purpose]("joinless.purpose")

  /** What groups are for that the query does not have itself.
    *
    * @param text for explain
    * @param emits what a group emits
    * @param isOfMatches whether a row has a match
    */
  final case class Purpose(text: String, emits: String, isOfMatches: Boolean)

  object Purpose {
    def matches(text: String): Purpose = Purpose(text, "whether a row has a match", isOfMatches = true)
  }

  /** A GROUP BY whose groups can be maintained.
    *
    * @param keys the grouping columns
    * @param results the select list, over `keys` and the functions' result attributes
    */
  final case class Grouping(
      keys: Seq[NamedExpression],
      functions: Seq[AggregateExpression],
      results: Seq[NamedExpression],
      child: LogicalPlan
  ) {

    /** The output of the node, without the weight. */
    val output: Seq[Attribute] = keys.map(_.toAttribute) ++ functions.map(_.resultAttribute)
  }

  /** The groups of a GROUP BY; or the first of its keys, functions and arguments that they do not
    * support.
    */
  def grouping(aggregate: Aggregate): Either[Reason, Grouping] = aggregate match {
    case PhysicalAggregation(keys, functions, results, child) =>
      // only arguments count: Spark calls functions random that depend on the order of rows, which
      // here is fixed
      val expressions = keys ++ functions.flatMap(f => f.aggregateFunction.children ++ f.filter)
      keys.find(key => !KeyBytes.groupable(key.dataType))
        .map(unsupportedKey(_, child))
        .orElse(functions.find(!supported(_)).map(unsupported))
        .orElse(DeltaScope.changing(expressions))
        .toLeft(Grouping(keys, functions, results, child))
    case _ =>
      val what = aggregate.aggregateExpressions.map(Names.of).mkString(", ")
      Left(Reason.of(Reason.UnsupportedAggregate, "function" -> what))
  }

  /** The reason that rows cannot be grouped by a column, which is named as the query has it. */
  private def unsupportedKey(key: Expression, child: LogicalPlan): Reason =
    Reason.of(Reason.UnsupportedGroupKey, "key" -> Names.of(written(key, child)), "type" -> key.dataType.sql)

  /** A grouping column as the query has it. Where it has a map, Spark groups by a column of its own
    * with sorted maps:
    * {{{
    * a map                       MapSort(map)
    * a map with maps as values   MapSort(MapFromArrays(MapKeys(map), ...))
    * a struct with maps          If(IsNull(struct), NULL, ...)
    * an array of maps            ArrayTransform(array, ...)
    * }}}
    */
  private def written(key: Expression, child: LogicalPlan): Expression = LeafSource(child).resolve(key) match {
    case sorted if !sorted.exists(_.isInstanceOf[MapSort]) => key
    case MapSort(MapFromArrays(MapKeys(map), _)) => map
    case MapSort(map) => map
    case If(IsNull(struct), _, _) => struct
    case ArrayTransform(array, _) => array
    case other => other
  }

  /** The reason that a function cannot be maintained; it names the type, if that is why. */
  private def unsupported(f: AggregateExpression): Reason = ofBytes(f) match {
    case Some(dataType) =>
      Reason.of(Reason.UnsupportedAggregateType, "function" -> Names.of(f), "type" -> dataType.sql)
    case None => Reason.of(Reason.UnsupportedAggregate, "function" -> Names.of(f))
  }

  /** The type of the function's values, where they are distinguished by bytes but equal values can
    * differ in their bytes.
    */
  private def ofBytes(f: AggregateExpression): Option[DataType] = f.aggregateFunction match {
    case function @ (_: Min | _: Max) if !KeyBytes.comparable(function.dataType) => Some(function.dataType)
    case function if f.isDistinct => function.children.map(_.dataType).find(!KeyBytes.groupable(_))
    case _ => None
  }

  /** Whether groups can maintain a function. */
  private def supported(f: AggregateExpression): Boolean = f match {
    case AggregateExpression(function, Complete, _, _, _) =>
      ofBytes(f).isEmpty && (function match {
        case _: Count | _: AnyOf | _: BestRows | _: AsOfRows | _: OnlyRow | _: Min | _: Max => true
        case sum: Sum => summable(sum.child.dataType)
        case average: Average => summable(average.child.dataType)
        case other => !other.exists(_.isInstanceOf[PythonFuncExpression])
      })
    case _ => false
  }

  /** Whether a function over equal rows equals the function over one of them. */
  def countsOnce(f: AggregateExpression): Boolean = f.isDistinct || (f.aggregateFunction match {
    case _: Min | _: Max | _: AnyOf => true
    case _ => false
  })

  /** The demand of a grouping on its rows. */
  def demand(grouping: Grouping): Demand =
    FunctionArguments.demand(grouping.functions.forall(countsOnce), keys(grouping), grouping.functions)

  /** The expressions of the grouping columns. */
  private def keys(grouping: Grouping): IndexedSeq[Expression] =
    grouping.keys.map { case Alias(value, _) => value; case other => other }.toIndexedSeq

  /** Whether values of a type can be added up. */
  private def summable(dataType: DataType): Boolean = dataType match {
    case FloatType | DoubleType => true
    case BooleanType => false
    case other => FactorLift.takes(other)
  }

  /** The stateful node of a grouping. Its child has the keys, the arguments of the functions, and
    * the weight. An argument that was added up below has the columns of its sum instead, and the
    * first of them is its position.
    *
    * @param rows the changes of the grouping's child
    * @param closes keys that are closing times, with their lags, where groups are emitted once they
    *   are final
    */
  def groups(grouping: Grouping, rows: WeightedRows, closes: IndexedSeq[TimeSpec]): Groups = {

    /** The expression over the plan of the changes. */
    def own(e: Expression): Expression = rows.own(e, grouping.child)

    val keys = GroupCompiler.keys(grouping).map(value => (rows.text(value), value))
    val arguments = grouping.functions.map(argument)
    val requested = demand(grouping).arguments
    val sums = arguments.zip(grouping.functions).map { case (a, f) =>
      a.filter(_ => takesSums(f)).flatMap(rows.sumOf(requested, _))
    }
    val columns = keys.zipWithIndex.map { case ((text, value), i) =>
      // a key that is computed where the rows are stored is a column here
      val key = rows.keys.lift(i).flatten.fold(own(value))(rows.plan.output)
      Alias(KeyBytes.stored(key), text)()
    } ++
      arguments.zip(sums).flatMap {
        case (argument, None) => argument.map(value => Alias(own(value), rows.text(value))())
        case (_, Some(parts)) =>
          parts.flatMap(p => (0 until p.part.columns).map(i => Alias(rows.plan.output(p.first + i), "sum")()))
      }
    val widths = arguments.zip(sums).map { case (argument, sum) => sum.fold(argument.size)(_.map(_.part.columns).sum) }
    val places = widths.scanLeft(keys.size)(_ + _).zip(arguments).map { case (at, argument) => argument.map(_ => at) }
    val functions = grouping.functions.zip(places).zip(sums).map { case ((f, at), sum) =>
      function(f, at).copy(sum = sum.map(_.map(_.part)))
    }
    val specs = grouping.functions.zip(arguments).map { case (f, argument) =>
      functionSpec(f, argument, rows.text, rows.retractable)
    }
    val output = keys.zip(grouping.keys).map { case ((text, _), key) => column(text, key.dataType) } ++
      specs.zip(grouping.functions).map { case (spec, f) => column(spec.text, f.dataType) } :+
      AttributeReference(DeltaForm.Weight.column, LongType, nullable = false)()
    val grouped = Project(columns :+ rows.plan.output.last, rows.plan)
    Groups(
      grouped,
      functions,
      GroupShape(
        keys.map { case (text, value) => ColumnSpec(text, KeyBytes.storedType(value.dataType)) }.toIndexedSeq,
        specs.toIndexedSeq,
        zone = TimeZones.ofTexts((keys.map(_._2) ++ arguments.flatten).map(LeafSource(grouping.child).resolve)),
        origin = Some(RowsDigest.origin(grouped)),
        closes = closes
      ),
      output
    )
  }

  /** An output column with a new id. */
  private def column(name: String, dataType: DataType): Attribute = AttributeReference(name, dataType)()

  /** A function over the group's arguments, as they are stored.
    *
    * @param position of its argument; None where it counts all rows
    */
  private def function(f: AggregateExpression, position: Option[Int]): GroupFunction = f.aggregateFunction match {
    case count: Count => GroupFunction(count.copy(children = Seq(Literal(1))), position)
    case other if isRecomputed(other) =>
      val row = BoundReference(position.get, KeyBytes.storedType(argument(f).get.dataType), nullable = true)
      val fields = recomputed(other).indices.iterator.map(GetStructField(row.copy(ordinal = 0), _))
      val ofRow = other.withNewChildren(other.children.map {
        case constant if constant.foldable => constant
        case order: SortOrder => order.copy(child = fields.next(), sameOrderExpressions = Nil)
        case _ => fields.next()
      })
      GroupFunction(FunctionOfRows(row, ofRow.asInstanceOf[AggregateFunction], f.isDistinct), position)
    case other =>
      val bound = other.withNewChildren(other.children.map { c =>
        BoundReference(position.get, KeyBytes.storedType(c.dataType), nullable = true)
      })
      GroupFunction(bound.asInstanceOf[AggregateFunction], position)
  }

  /** The state of a function; BOOLEAN is the type where it has no argument.
    *
    * @param retractable rows can be deleted
    */
  private def functionSpec(
      f: AggregateExpression,
      argument: Option[Expression],
      text: Expression => String,
      retractable: Boolean
  ): FunctionSpec = {
    // values: the group stores each distinct value with its number
    val (kind, values) = f.aggregateFunction match {
      case _: Count | _: AnyOf => (FunctionKind.Counted, f.isDistinct)
      case _: Min => (FunctionKind.Least, retractable)
      case _: Max => (FunctionKind.Greatest, retractable)
      case other if isRecomputed(other) => (FunctionKind.Recomputed, true)
      case _: AsOfRows => (FunctionKind.AsOf, true)
      case _: OnlyRow => (FunctionKind.Only, false)
      case best: BestRows => (FunctionKind.Best, retractable || best.limit.isEmpty)
      case _ => (FunctionKind.Summed, f.isDistinct)
    }
    FunctionSpec(text(f), kind, argument.fold[DataType](BooleanType)(a => KeyBytes.storedType(a.dataType)), values)
  }
}
