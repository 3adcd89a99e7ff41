package io.joinless.spark.evolve

import java.util.Locale

import io.joinless.spark.plans.nodes.{DeltaRows, Groups, InTime, JoinFreeJoin}
import io.joinless.spark.rules.blocks.Conditions
import io.joinless.spark.rules.meaning.{ExpressionTexts, LeafSource, RowsDigest, TimeZones}
import io.joinless.spark.rules.scans.SharedSources
import io.joinless.spark.spec._
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView}
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId, Expression, IsNotNull, UserDefinedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, Filter, LogicalPlan, Project}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.joinless.{StaticSource, StreamLeaf}

/** The scans of a compiled query: the rows that it reads through each of them, and what its blocks
  * store of these.
  *
  * @param scans in preorder
  */
final private[evolve] case class Relations(scans: IndexedSeq[Relations.Read]) {

  /** What the blocks store, as it is recorded. */
  def stored: StoredRelations = StoredRelations(scans.map(_.scan), scans.flatMap(_.stored))
}

private[evolve] object Relations {

  /** A scan of a query.
    *
    * @param rows those that are read through it, or why others cannot take their place, as a clause
    * @param stored what a block stores of them
    */
  final case class Read(scan: ScanSpec, rows: Either[String, Rows], stored: Option[StoredRelation])

  /** The rows of projections and conditions on one stream, over the columns of the stream.
    *
    * @param stream a digest of the stream, and of how it is read
    * @param columns the ids of the plan's columns
    * @param streamColumns the ids of the stream's
    * @param present expressions that are NULL in none of the rows
    */
  final case class Rows(
      stream: String,
      columns: Seq[ExprId],
      streamColumns: Seq[ExprId],
      values: Seq[Expression],
      conditions: Seq[Expression],
      present: Seq[Expression],
      settings: Option[String]
  )

  /** Whether a plan has operators of ours. */
  def isOurs(plan: LogicalPlan): Boolean = plan.exists {
    case _: JoinFreeJoin | _: Groups | _: DeltaRows => true
    case _ => false
  }

  def apply(plan: LogicalPlan): Relations = {
    val sources = SharedSources.apart(plan).iterator
    val blocks = plan.collect { case join: JoinFreeJoin => join }.iterator.zipWithIndex
    val positions = Iterator.from(0)

    /** The only scan of a plan.
      *
      * @param refused why others cannot take the place of its rows
      * @param role the block and the relation that the plan is
      */
    def read(plan: LogicalPlan, leaf: LogicalPlan, refused: Option[String], role: Option[Role]): Read = {
      val position = positions.next()
      leaf match {
        case StreamLeaf(stream) =>
          val rows = refused.toLeft(()).flatMap(_ => rowsOf(plan, leaf, role))
          Read(
            ScanSpec(stream.place.getOrElse(stream.sourceName), sources.next()),
            rows,
            for (role <- role; rows <- rows.toOption) yield role.stored(rows, position)
          )
        case StaticSource(static) => Read(ScanSpec(static.name, -1), Left("it is read once"), None)
        case other => throw new IllegalStateException(s"no scan: ${other.nodeName}")
      }
    }

    def walk(plan: LogicalPlan, refused: Option[String], role: Option[Role]): Seq[Read] =
      leafOf(plan).fold(plan match {
        case join: JoinFreeJoin =>
          val block = blocks.next()._2
          join.scans.zip(join.rolesOfScan).flatMap {
            case (scan, Seq(relation)) => walk(scan, refused, Some(Role(join.shape, block, relation)))
            case (scan, _) => walk(scan, refused, None)
          }
        case _: EventTimeWatermark | _: InTime => plan.children.flatMap(walk(_, Some("it has a watermark"), None))
        case other => other.children.flatMap(walk(_, refused, None))
      })(leaf => Seq(read(plan, leaf, refused, role)))
    Relations(walk(EliminateView(EliminateSubqueryAliases(plan)), None, None).toIndexedSeq)
  }

  /** A relation of a block. */
  final private case class Role(shape: BlockShape, block: Int, relation: Int) {
    private val input = shape.inputs(shape.relations(relation).input)

    /** Whether its rows are removed by time. */
    def isRemoved: Boolean = shape.forgets || input.kind.expires

    /** The positions of columns in which no row of the block has a NULL. */
    def keys: Seq[Int] =
      shape.relations(relation).keys.filterNot(key => shape.attributes(key.attribute).nullSafe).map(_.ordinal)

    /** What the block stores of rows.
      *
      * @param scan its position in the query
      */
    def stored(rows: Rows, scan: Int): StoredRelation = {
      val (columns, weight) = rows.values.map(ExpressionTexts.unqualified).splitAt(input.columns.size)
      StoredRelation(
        block,
        relation,
        scan,
        rows.stream,
        columns.zip(input.columns).map { case (text, column) => ColumnSpec(text, column.dataType) }.toIndexedSeq,
        Option.when(input.kind.signed)(weight.head),
        rows.conditions.map(ExpressionTexts.unqualified).distinct.sorted.toIndexedSeq,
        rows.present.map(ExpressionTexts.unqualified).sorted.toIndexedSeq,
        rows.settings
      )
    }
  }

  /** The scan of which a plan is projections and conditions; None if it is anything else. */
  private def leafOf(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case Project(_, child) => leafOf(child)
    case Filter(_, child) => leafOf(child)
    case leaf => Option.when(StreamLeaf.is(leaf) || StaticSource.unapply(leaf).isDefined)(leaf)
  }

  private def rowsOf(plan: LogicalPlan, leaf: LogicalPlan, role: Option[Role]): Either[String, Rows] = {
    val source = LeafSource(plan)
    val values = plan.output.map(source.resolve(_))
    val (nonNull, conditions) = source.conditions.partition(_.isInstanceOf[IsNotNull])
    val present = role.toSeq.flatMap(_.keys).map(values(_)) ++ nonNull.flatMap(_.children)
    for {
      _ <- refusal(role, values ++ source.conditions).toLeft(())
      place <- RowsDigest.places(leaf).headOption.toRight("it has no table, path or topic")
    } yield Rows(
      digest(leaf, place),
      plan.output.map(_.exprId),
      leaf.output.map(_.exprId),
      values,
      conditions,
      present.filter(_.nullable).distinctBy(ExpressionTexts.unqualified),
      settings(values ++ conditions)
    )
  }

  /** Why the rows are not those of the stream for all time, as a clause. */
  private def refusal(role: Option[Role], expressions: Seq[Expression]): Option[String] = {
    def some(test: Expression => Boolean) = expressions.exists(_.exists(test))
    if (role.exists(_.isRemoved)) Some("its rows are removed by time")
    else if (expressions.exists(e => !e.deterministic || Conditions.isLate(e)) || some(Conditions.isTime))
      Some("its rows depend on more than the stream")
    else if (some(_.isInstanceOf[UserDefinedExpression])) Some("functions of users are applied to its rows")
    else if (some { case a: Attribute => Conditions.isEventTime(a); case _ => false }) Some("it has a watermark")
    else None
  }

  /** The stream, and all that decides on its rows. Limits of batches do not. */
  private def digest(leaf: LogicalPlan, place: String): String = {
    val options = leaf match {
      case StreamLeaf(stream) => (stream.sourceName +: stream.older.map(_.sourceName).toSeq) ++
          stream.options.toSeq.map { case (name, value) => (name.toLowerCase(Locale.ROOT), value) }
            .filterNot { case (name, _) => name == "path" || Limit.matches(name) }.sorted.map(_.toString)
      case _ => Nil
    }
    Sha256((place +: options ++: leaf.output.map(a => s"${a.name} ${a.dataType.sql}")).mkString("\n"))
  }

  private val Limit = "(max|min).*(trigger|delay).*".r

  /** The settings on which values depend; columns as they are depend on none. */
  private def settings(expressions: Seq[Expression]): Option[String] = {
    val computed = expressions.filterNot(_.isInstanceOf[Attribute])
    Option.when(computed.nonEmpty)(
      (TimeZones.ofTexts(computed).toSeq :+ s"ANSI ${SQLConf.get.ansiEnabled}").mkString(", ")
    )
  }
}
