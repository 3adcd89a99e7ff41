package io.joinless.spark.explain.steps

import io.joinless.spark.explain.ReadableSql
import io.joinless.spark.plans.nodes.{DeltaRows, Groups, InTime, JoinFreeJoin, KeyedRecords, RowWindows}
import io.joinless.spark.spec.{BlockShape, ColumnRef, DerivedNames, NodeId}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, ExprId, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.joinless.{StaticSource, StreamLeaf}

/** The steps of an optimized query, as one tree: its result on top, its tables at the leaves.
  *
  * Operators that only serve others are no steps: projections; conditions, which are details of the
  * step below; the parts into which the rows of a LIMIT are divided; a block of one relation, which
  * stores the rows of a table; and the groups below a window, which store its partitions.
  */
final private[spark] class StepsOf private () {
  import StepsOf._

  private[this] var numbers = 0

  /** The steps below each join, by its relations. */
  private[this] val inputsOf = collection.mutable.Map.empty[NodeId, Int => Step]

  /** The names that the query gives to columns of groups. */
  private[this] val aliases = collection.mutable.Map.empty[ExprId, String]

  /** The step that stores something, with the next number. */
  private def next(step: Step): Step = {
    numbers += 1
    step.copy(number = Some(numbers))
  }

  private def step(plan: LogicalPlan): Step = step(plan, Nil)

  /** @param keys columns of the plan that the step above compares or groups: Spark adds that they
    *   are not NULL
    */
  private def step(plan: LogicalPlan, keys: Seq[Attribute]): Step = plan match {
    case Project(list, child) =>
      list.foreach {
        case Alias(a: Attribute, name) if ReadableSql.isName(name) && !DerivedNames.is(name) =>
          aliases.getOrElseUpdate(a.exprId, name)
        case _ =>
      }
      step(child, keys.flatMap(below(_, list)))
    case Filter(condition, child) => filtered(condition, child, keys)
    case generate: Generate => step(generate.child)
    case InTime(_, _, child) => step(child, keys)
    case EventTimeWatermark(_, _, _, child) => step(child, keys)
    case windows: RowWindows => ofWindows(windows)
    case groups: Groups => ofGroups(groups)
    case join: JoinFreeJoin => ofBlock(join, keys)
    case union: Union => ofUnion(union, keys)
    case records: KeyedRecords => Step(s"One record per key ${records.columns}", inputs = Seq(step(records.child)))
    case deltas: DeltaRows => step(deltas.child)
    case expand: Expand => Step("Several groupings of each row", inputs = Seq(step(expand.child)))
    case StaticSource(static) => Step(static.name, stores = Some("read once, in the first batch"))
    case StreamLeaf(leaf) => Step(leaf.place.fold(leaf.sourceName)(lastName))
    case leaf: LeafNode => Step(leaf.nodeName)
    case other => Step(s"${other.nodeName} (Spark's own)", inputs = other.children.map(step(_)))
  }

  /** The columns of which a projection makes this one. */
  private def below(column: Attribute, list: Seq[NamedExpression]): Seq[Attribute] =
    list.find(_.exprId == column.exprId).toSeq.flatMap(_.collect { case a: Attribute => a })

  private def filtered(condition: Expression, child: LogicalPlan, keys: Seq[Attribute]): Step = {
    val below = step(child, keys)
    GroupWords.below(child) match {
      case Some(groups) if groups.purpose.isDefined =>
        GroupWords.ofMatches(groups, condition).fold(below)(t => below.copy(title = t))
      case groups =>
        below.onlyIf(if (groups.isEmpty) "where" else "having", readable(child).conditions(condition, keys))
    }
  }

  private def ofUnion(union: Union, keys: Seq[Attribute]): Step = {
    val positions = keys.map(key => union.output.indexWhere(_.exprId == key.exprId))
    val inputs = union.children.map(child => step(child, positions.flatMap(child.output.lift)))
    if (inputs.exists(_.role == Step.Matches))
      Step("Rows, or NULLs where there is no match", inputs = inputs, role = Step.Padded)
    else Step("UNION ALL", inputs = inputs, role = Step.Union)
  }

  /** The columns of the result that are computed from others, each with its expression. */
  private def computed(plan: LogicalPlan, columns: Seq[Attribute]): Seq[String] = plan match {
    case Project(list, child) =>
      columns.zip(list).collect {
        case (column, Alias(e, _)) if !e.foldable && !isColumn(e) => s"${column.name} = ${readable(child)(e)}"
      }
    case _ => Nil
  }

  private def isColumn(e: Expression): Boolean = e match {
    case _: Attribute => true
    case cast: Cast => isColumn(cast.child)
    case _ => false
  }

  // -- joins ------------------------------------------------------------------------------------

  /** @param keys as for `step` */
  private def ofBlock(join: JoinFreeJoin, keys: Seq[Attribute]): Step = {
    val shape = join.shape
    val ofKeys = keys.flatMap(key => shape.output.lift(join.output.indexWhere(_.exprId == key.exprId)))
    val ofEdges = for ((relation, r) <- shape.relations.zipWithIndex; key <- relation.keys)
      yield ColumnRef(r, key.ordinal)
    val compared = ofKeys ++ ofEdges ++ shape.residuals.flatMap(_.columns)
    val inputs = join.scans.zip(join.rolesOfScan).map { case (scan, roles) =>
      ofRelations(
        shape,
        scan,
        roles,
        compared.collect { case c if roles.contains(c.relation) => scan.output(c.ordinal) }
      )
    }
    if (shape.relations.size == 1 && shape.sample.isEmpty) inputs.head
    else {
      val input = (r: Int) => inputs(join.rolesOfScan.indexWhere(_.contains(r)))
      inputsOf(shape.id) = input
      next(new JoinWords(shape, input).step(inputs, join.rolesOfScan))
    }
  }

  /** The rows of some relations of a block, which read the same scan.
    *
    * @param compared columns of the scan
    */
  private def ofRelations(shape: BlockShape, scan: LogicalPlan, relations: Seq[Int], compared: Seq[Attribute]): Step = {
    val below = step(scan, compared)
    if (below.number.isDefined) below
    else {
      val names = relations.map(r => shape.relations(r).name)
      val aliases = if (!below.isTable || names == Seq(below.title)) "" else names.mkString(" (", ", ", ")")
      val columns =
        scan.output.take(shape.stored(shape.relations(relations.head)).size).flatMap(stored(
          _,
          scan,
          shape.relations.size == 1
        )).distinct
      val all = if (columns.isEmpty) "how many rows there are" else s"rows of ${columns.mkString(", ")}"
      val ends = JoinWords.ends(shape, names)
      below.copy(title = below.title + aliases, stores = Some((below.stores ++ Seq(all + ends)).mkString(": ")))
    }
  }

  /** A stored column of a scan for people; None if it only says from which side of a join a row is.
    *
    * @param isKeys the rows are keys of a join: columns that are true or NULL say no more than that
    */
  private def stored(column: Attribute, scan: LogicalPlan, isKeys: Boolean): Option[String] = scan match {
    case Project(list, _) =>
      list.find(_.exprId == column.exprId) match {
        case Some(Alias(value, _)) =>
          Option.when(!value.foldable && !(isKeys && ReadableSql.isFlag(value)))(new ReadableSql().apply(value))
        case _ => Some(new ReadableSql().apply(column))
      }
    case union: Union =>
      val at = union.output.indexWhere(_.exprId == column.exprId)
      union.children.flatMap(part => stored(part.output(at), part, isKeys)).headOption
    case _ => Some(new ReadableSql().apply(column))
  }

  // -- groups -----------------------------------------------------------------------------------

  private def ofGroups(groups: Groups): Step = GroupWords.parts(groups) match {
    case Some(parts) => ofGroups(parts).copy(title = GroupWords.ordered(groups.title))
    case None =>
      val below = step(groups.child, groups.child.output.init)
      next(new GroupWords(groups, readable(groups.child), aliases.get).step(below))
  }

  private def ofWindows(windows: RowWindows): Step = {
    val below = GroupWords.below(windows.child).filter(_.purpose.isDefined).fold(step(windows.child))(ofGroups)
    val functions = windows.output.drop(windows.child.output.size).map(_.name).mkString(", ")
    below.copy(
      title = s"Window functions $functions over ${below.title.take(1).toLowerCase}${below.title.drop(1)}",
      cost = Some("each partition that a change touches is computed anew"),
      reach = Step.Group
    )
  }

  /** How columns are named above this plan. */
  private def readable(plan: LogicalPlan): ReadableSql = ReadableSql.above(
    plan,
    (shape, r) => {
      val input = inputsOf.getOrElse(shape.id, (_: Int) => Step.Table)
      Option.when(input(r).role != Step.Matches)(JoinWords.called(shape, input)(r))
    }
  )
}

private[spark] object StepsOf {

  def apply(optimized: LogicalPlan): Step = {
    val (rows, columns) = optimized match {
      case DeltaRows(child, _, _, output, _) => (child, output.init)
      case plan => (plan, plan.output)
    }
    val steps = new StepsOf()
    val below = steps.step(rows)
    val details = columns.map(_.name).mkString(", ") +: steps.computed(rows, columns)
    shortened(Repeats.marked(Step("Result", details, inputs = Seq(below)).withCostliest))
  }

  /** The longest text of a line. */
  private val Longest = 400

  private def shortened(step: Step): Step = {
    def short(text: String) = if (text.length <= Longest) text else text.take(Longest) + " ..."
    step.copy(
      title = short(step.title),
      details = step.details.map(short),
      stores = step.stores.map(short),
      cost = step.cost.map(short),
      inputs = step.inputs.map(shortened)
    )
  }

  private def lastName(place: String): String = place.stripSuffix("/").split("[./]").last
}
