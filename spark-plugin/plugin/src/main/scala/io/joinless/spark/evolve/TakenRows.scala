package io.joinless.spark.evolve

import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.values.InPlaceOf
import io.joinless.spark.source.{Snapshot, StoredRowsTable}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  And,
  BitwiseAnd,
  BoundReference,
  Coalesce,
  EqualTo,
  ExprId,
  Expression,
  Literal,
  Not,
  Or
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan, Project, SubqueryAlias, View}

/** Stored rows in the plan of a batch, in place of the plans that have the columns of these rows.
  *
  * Relations of a block that read rows of one stored input read them together: a row is then sent
  * to its cells once, with all its roles, as it is where a stream is read.
  *
  * @param snapshot of each operator that has stored some of them
  */
final private[evolve] class TakenRows(taken: Seq[Taken], snapshot: Map[Long, Snapshot]) {
  private val byColumns = taken.map(t => t.columns -> t).toMap

  /** The plan with stored rows. It stays one of streams. */
  def in(plan: LogicalPlan): LogicalPlan = {
    val (replaced, found) = replace(plan)
    if (found.size != taken.size) throw new IllegalStateException("Stored rows have no place in the plan of the batch.")
    replaced
  }

  private def replace(plan: LogicalPlan): (LogicalPlan, Seq[Taken]) = (plan, of(plan)) match {
    case (_, Some(rows)) =>
      val stored = read(Seq(rows))
      val columns = plan.output.zip(stored.output).map { case (column, value) => InPlaceOf(column, value) }
      (Project(columns, stored), Seq(rows))
    case (join: JoinFreeJoin, _) => replaceIn(join)
    case _ =>
      val children = plan.children.map(replace)
      val found = children.flatMap(_._2)
      (if (found.isEmpty) plan else plan.withNewChildren(children.map(_._1)), found)
  }

  /** The rows of which a plan is the place: it has their columns, by projections and conditions on
    * their stream.
    */
  private def of(plan: LogicalPlan): Option[Taken] = {
    def reads(plan: LogicalPlan, stream: Seq[ExprId]): Boolean = plan.output.map(_.exprId) == stream || (plan match {
      case _: Project | _: Filter | _: SubqueryAlias | _: View => reads(plan.children.head, stream)
      case _ => false
    })
    byColumns.get(plan.output.map(_.exprId)).filter(rows => reads(plan, rows.stream))
  }

  private def replaceIn(join: JoinFreeJoin): (LogicalPlan, Seq[Taken]) = {
    val (stored, others) = join.rolesOfScan.zip(join.scans).partitionMap {
      case (Seq(role), scan) if of(scan).isDefined => Left(role -> of(scan).get)
      case (roles, scan) => Right(roles -> scan)
    }
    val together = stored.groupBy { case (role, rows) =>
      (rows.operator, inputOf(rows), join.shape.relations(role).input, rows.values.map(_.canonicalized))
    }.values.toSeq.map(several => several.map(_._1) -> read(several.map(_._2)))
    val left = others.map { case (roles, scan) => (roles, replace(scan)) }
    val all = (together ++ left.map { case (roles, (scan, _)) => roles -> scan }).sortBy(_._1.headOption.getOrElse(-1))
    val found = stored.map(_._2) ++ left.flatMap { case (_, (_, found)) => found }
    if (found.isEmpty) (join, Nil)
    else {
      // without a stream Spark would take the batch for one of tables
      val scans = all :+ (Nil -> LocalRelation(Nil, Nil, isStreaming = true))
      (join.copy(scans = scans.map(_._2), rolesOfScan = scans.map(_._1)), found)
    }
  }

  private def inputOf(rows: Taken): Int = snapshot(rows.operator).spec.relations(rows.of.relation).input

  /** Rows that are stored in one input, with the same columns: for several readers, one BOOLEAN
    * column for each follows that says whether it has the row.
    */
  private def read(readers: Seq[Taken]): LogicalPlan = {
    val first = readers.head
    val table = StoredRowsTable.relation(
      snapshot(first.operator),
      inputOf(first),
      readers.map(_.of.relation).distinct,
      copies = first.of.weight.isEmpty
    )
    val (roles, count, stored) = (table.output(0), table.output(1), table.output.drop(2))
    def bound(e: Expression) = e.transform { case BoundReference(i, _, _) => (stored :+ count)(i) }
    val has = readers.map { reader =>
      val role = Not(EqualTo(BitwiseAnd(roles, Literal(1L << reader.of.relation)), Literal(0L)))
      reader.conditions.map(bound).foldLeft[Expression](role)(And(_, _))
    }
    val columns = first.values.map(value => Alias(bound(value), "stored")())
    val flags = if (readers.size == 1) Nil else has.map(h => Alias(Coalesce(Seq(h, Literal.FalseLiteral)), "role")())
    Project(columns ++ flags, Filter(has.reduce[Expression](Or(_, _)), table))
  }
}
