package io.joinless.spark.explain.steps

import io.joinless.spark.explain.{ReducedFacts, ViewTreeFacts}
import io.joinless.spark.plans.nodes.{DeltaRows, Groups, InTime, JoinFreeJoin, RowWindows}
import io.joinless.spark.plans.values.BestRows
import io.joinless.spark.spec.{BlockShape, ColumnRef, DerivedNames, FunctionKind, FunctionSpec, NodeId, SampleSpec}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
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

  /** The step that stores something, with the next number. */
  private def next(step: Step): Step = {
    numbers += 1
    step.copy(number = Some(numbers))
  }

  private def step(plan: LogicalPlan): Step = step(plan, Nil)

  /** @param keys columns of the plan that the step above compares or groups: Spark adds that they are
    *   not NULL
    */
  private def step(plan: LogicalPlan, keys: Seq[Attribute]): Step = plan match {
    case Project(list, child) => step(child, keys.flatMap(below(_, list)))
    case Filter(condition, child) => filtered(condition, child, keys)
    case generate: Generate => step(generate.child)
    case InTime(_, _, child) => step(child, keys)
    case EventTimeWatermark(_, _, _, child) => step(child, keys)
    case windows: RowWindows => ofWindows(windows)
    case groups: Groups => ofGroups(groups)
    case join: JoinFreeJoin => ofBlock(join, keys)
    case union: Union =>
      val positions = keys.map(key => union.output.indexWhere(_.exprId == key.exprId))
      val padded = union.children.exists(rowsBelow(_).exists(isMade))
      Step(
        if (padded) "Rows, or NULLs where there is no match" else "UNION ALL",
        inputs = union.children.map(child => step(child, positions.flatMap(child.output.lift)))
      )
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
    // rows of groups that are empty, and flags of matches, are no conditions of the query
    val groups = rowsBelow(child)
    if (groups.exists(isMade)) below
    else below.onlyIf(if (groups.isEmpty) "where" else "having", readable(child).conditions(condition, keys))
  }

  /** Groups that the query does not have. */
  private def isMade(groups: Groups): Boolean = groups.purpose.isDefined

  /** The groups right below projections and conditions. */
  private def rowsBelow(plan: LogicalPlan): Option[Groups] = plan match {
    case Project(_, child) => rowsBelow(child)
    case Filter(_, child) => rowsBelow(child)
    case generate: Generate => rowsBelow(generate.child)
    case groups: Groups => Some(groups)
    case _ => None
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
    shape.relations match {
      case Seq(_) if shape.sample.isEmpty => inputs.head
      case _ => ofJoin(join, inputs)
    }
  }

  private def ofJoin(join: JoinFreeJoin, inputs: Seq[Step]): Step = {
    val shape = join.shape
    val input = (r: Int) => inputs(join.rolesOfScan.indexWhere(_.contains(r)))
    inputsOf(shape.id) = input
    val sql = named(shape, input)
    val on = shape.attributes.indices.map { x =>
      val equal = for {
        (relation, r) <- shape.relations.zipWithIndex
        key <- relation.keys.find(_.attribute == x)
      } yield columnOf(shape, sql, r, key.ordinal)
      // the other side may be made from the same column, as that of an outer join
      val sides =
        if (equal.distinct.size == 1) equal.take(1) :+ s"${called(shape, last(shape, x), input)}" else equal.distinct
      sides.mkString(if (shape.attributes(x).nullSafe) " <=> " else " = ")
    }
    val checks = shape.residuals.map { condition =>
      condition.columns.map(_.relation).filter(input(_).isMade).distinct match {
        case Seq() => sql(condition.sql)
        case matches => s"what ${matches.map(called(shape, _, input)).mkString(" and ")} says"
      }
    }
    val details = Option.when(on.nonEmpty)(s"on ${on.mkString(", ")}") ++
      Option.when(checks.nonEmpty)(s"checked on each result: ${checks.mkString(" AND ")}")
    val reduced = shape.reduction.map(ReducedFacts(shape, _))
    val facts = ViewTreeFacts(shape)
    val title = shape.sample match {
      case Some(sample) => s"Sample of ${sample.size} rows${groupsOf(sample, shape)} of the join"
      case None if shape.reduction.exists(_.once) => "Join (only whether there are results)"
      case None if shape.reduction.isDefined => "Join (results are counted, not listed)"
      case None => "Join"
    }
    val update = reduced.fold(facts.update)(_.update)
    val own = if (update.startsWith("one step per row")) Step.Group else Step.Change
    val apart = new Unlinked(facts.apart, called(shape, _, input), r => input(r).isOneRow)
    next(Step(
      title,
      details.toSeq,
      Some(if (reduced.isDefined) "its rows once, and counts by key" else "its rows once, and their keys"),
      Some(apart.cost.getOrElse(update)),
      if (apart.cost.isDefined) Step.All else own,
      inputs,
      reachFrom = join.rolesOfScan.map(roles => if (roles.exists(apart.meetsAll)) Step.All else own)
    ))
  }

  private def groupsOf(sample: SampleSpec, shape: BlockShape): String =
    if (sample.isGrouped) s" per ${sample.by.toSeq.map(x => shape.attributes(x).name).mkString(", ")}" else ""

  /** The rows of some relations of a block, which read the same scan.
    *
    * @param compared columns of the scan
    */
  private def ofRelations(shape: BlockShape, scan: LogicalPlan, relations: Seq[Int], compared: Seq[Attribute]): Step = {
    val below = step(scan, compared)
    if (below.number.isDefined) below
    else {
      val names = relations.map(r => shape.relations(r).name)
      val aliases = if (!below.isTable || names == Seq(below.title)) "" else names.mkString(" AS ", ", ", "")
      val columns =
        scan.output.take(shape.stored(shape.relations(relations.head)).size).flatMap(stored(_, scan)).distinct
      val all = if (columns.isEmpty) "how many rows there are" else columns.mkString(", ")
      val until = ViewTreeFacts(shape).neededUntil.filter(named => names.contains(named._1)).map(_._2).distinct
      val ends = if (until.isEmpty) "" else s", until the watermark reaches ${until.mkString(", ")}"
      below.copy(title = below.title + aliases, stores = Some((below.stores ++ Seq(all)).mkString(": ") + ends))
    }
  }

  /** A stored column of a scan for people; None if it is the same in all rows, as the side of an outer
    * join.
    */
  private def stored(column: Attribute, scan: LogicalPlan): Option[String] = scan match {
    case Project(list, _) =>
      list.find(_.exprId == column.exprId) match {
        case Some(Alias(value, _)) => Option.when(!value.foldable)(new ReadableSql().apply(value))
        case _ => Some(new ReadableSql().apply(column))
      }
    case union: Union =>
      union.children.flatMap(part => stored(part.output(union.output.indexWhere(_.exprId == column.exprId)), part)).headOption
    case _ => Some(new ReadableSql().apply(column))
  }

  /** The last relation that has an attribute. */
  private def last(shape: BlockShape, attribute: Int): Int =
    shape.relations.lastIndexWhere(_.keys.exists(_.attribute == attribute))

  /** A stored column as the query has it. */
  private def columnOf(shape: BlockShape, sql: ReadableSql, relation: Int, ordinal: Int): String = {
    val owner = shape.relations(relation)
    sql(s"${quoted(owner.name)}.${quoted(shape.stored(owner)(ordinal).name)}")
  }

  // -- groups -----------------------------------------------------------------------------------

  private def ofGroups(groups: Groups): Step = partsOf(groups).getOrElse {
    val below = step(groups.child, groups.child.output.init)
    val sql = readable(groups.child)
    val columns = groups.shape.columns.map(c => sql(c.name))
    val functions = groups.shape.functions.map(f => sql(f.text))
    val best = groups.functions.map(_.function).collectFirst { case rows: BestRows => rows }
    val title = (groups.purpose, functions) match {
      case (Some(purpose), _) if best.isDefined => ordered(purpose)
      case (Some(_), _) if columns.isEmpty => "Whether there are any rows"
      case (Some(_), _) => s"Whether there is a match for ${columns.mkString(", ")}"
      case (None, Seq()) => s"DISTINCT ${columns.mkString(", ")}"
      case _ if columns.isEmpty => s"Total: ${functions.mkString(", ")}"
      case _ => s"GROUP BY ${columns.mkString(", ")}: ${functions.mkString(", ")}"
    }
    val made = isMade(groups) && best.isEmpty
    val row = if (columns.isEmpty) "one row" else "one row per group"
    val stores = best.map(storedBy(groups, _)).getOrElse(
      if (groups.shape.holdsValues) s"$row, and each different value of it" else row
    )
    val dear = groups.shape.functions.zip(groups.functions.map(_.function)).flatMap {
      case (spec, rows: BestRows) if spec.values && rows.limit.isDefined =>
        Some("its rows are looked through once many of the first have been deleted")
      case (spec, _) if spec.values => costOf(spec, sql)
      case _ => None
    }
    next(Step(
      title,
      Nil,
      Some(stores),
      Some((dear.distinct ++ Option.when(dear.isEmpty)("one read and one write per group")).mkString("; ")),
      if (dear.isEmpty) Step.Change else Step.Group,
      Seq(if (made && below.title == "UNION ALL") below.copy(title = "Keys of both sides") else below),
      isMade = made,
      isOneRow = columns.isEmpty && best.isEmpty
    ))
  }

  /** What groups of rows in an order store. */
  private def storedBy(groups: Groups, best: BestRows): String =
    if (best.limit.isDefined && !groups.shape.holdsValues) "these rows" else "each of its rows, in this order"

  /** The first rows of all, whose parts are groups of their own: one step. */
  private def partsOf(groups: Groups): Option[Step] = for {
    best <- groups.functions.map(_.function).collectFirst { case rows: BestRows => rows }
    parts <- rowsBelow(groups.child)
    if groups.shape.columns.isEmpty && parts.shape.columns.size == 1 && isMade(parts)
    below <- parts.functions.map(_.function).collectFirst { case rows: BestRows => rows }
    if best.limit.isDefined && below.limit == best.limit
  } yield ofGroups(parts).copy(title = ordered(groups.title))

  private def costOf(spec: FunctionSpec, sql: ReadableSql): Option[String] = spec.kind match {
    case FunctionKind.Least => Some(s"a deleted least value: ${sql(spec.text)} searches the group's values")
    case FunctionKind.Greatest => Some(s"a deleted greatest value: ${sql(spec.text)} searches the group's values")
    case FunctionKind.Recomputed => Some(s"${sql(spec.text)} is computed anew over the group's values")
    case _ => None
  }

  private def ofWindows(windows: RowWindows): Step = {
    val below = windows.child match {
      case plan if rowsBelow(plan).exists(isMade) => ofGroups(rowsBelow(plan).get)
      case plan => step(plan)
    }
    val functions = windows.output.drop(windows.child.output.size).map(_.name).mkString(", ")
    below.copy(
      title = s"Window functions $functions over ${below.title.take(1).toLowerCase}${below.title.drop(1)}",
      cost = Some("each partition that a change touches is computed anew"),
      reach = Step.Group
    )
  }

  /** An order in words, without what is the default. */
  private def ordered(purpose: String): String = {
    val short =
      purpose.replace(", ordered by ", " by ").replace(" ASC NULLS FIRST", "").replace(" DESC NULLS LAST", " DESC")
    short.take(1).toUpperCase + short.drop(1)
  }

  // -- names ------------------------------------------------------------------------------------

  /** A relation of a block for people: by its name in the query, or by the step that it is. */
  private def called(shape: BlockShape, relation: Int, input: Int => Step): String = {
    val (name, step) = (shape.relations(relation).name, input(relation))
    val number = if (DerivedNames.is(name)) step.all.flatMap(_.number).headOption else step.number
    number.fold(name)(n => s"[$n]")
  }

  /** Names of the columns of a block's relations, of which `input` are the steps. */
  private def named(shape: BlockShape, input: Int => Step): ReadableSql =
    ReadableSql.of(shape, r => Option.when(!input(r).isMade)(called(shape, r, input)))

  /** How columns are named above this plan. */
  private def readable(plan: LogicalPlan): ReadableSql = ReadableSql.above(
    plan,
    (shape, r) => {
      val input = inputsOf.getOrElse(shape.id, (_: Int) => Step.Table)
      Option.when(!input(r).isMade)(called(shape, r, input))
    }
  )
}

private[spark] object StepsOf {

  def apply(optimized: LogicalPlan): Step = {
    val (rows, columns) = optimized match {
      case DeltaRows(child, _, _, output, _) => (child, output.init)
      case plan => (plan, plan.output)
    }
    Step("Result", Seq(columns.map(_.name).mkString(", ")), inputs = Seq(new StepsOf().step(rows))).withDearest
  }

  /** A column in SQL's spelling. */
  private def quoted(name: String): String = s"`${name.replace("`", "``")}`"

  private def lastName(place: String): String = place.stripSuffix("/").split("[./]").last
}
