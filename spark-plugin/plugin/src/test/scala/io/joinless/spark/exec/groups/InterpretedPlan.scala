package io.joinless.spark.exec.groups

import scala.collection.mutable

import io.joinless.spark.plans.nodes.{DeltaRows, Groups, JoinFreeJoin}
import io.joinless.spark.state.groups.GroupArgument
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BindReferences, Expression, JoinedRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.{Expand, Filter, LogicalPlan, Project, Union}

/** A compiled query without Spark's execution: batches of weighted rows in, the changes of the
  * result out, on this thread.
  *
  * Groups are those of [[GroupsTask]] over a store in memory. Joins are computed anew, before and
  * after a batch: they are tested elsewhere, and their inputs here are small.
  *
  * @param rows the changes of a source by a batch
  */
final private[spark] class InterpretedPlan(plan: LogicalPlan, rows: LogicalPlan => Seq[InternalRow]) {
  import InterpretedPlan._

  private val root: Node = plan match {
    case DeltaRows(changes, _, _, _, _) => node(changes)
    case other => throw new IllegalArgumentException(s"${other.nodeName} emits no changes")
  }

  /** The changes of the result by the current batch of `rows`, net: the columns, and the number of
    * copies that are inserted or deleted.
    */
  def batch(): Map[Seq[Any], Long] = net(root.batch())

  private trait Node {
    def batch(): Seq[Weighted]
  }

  private def node(plan: LogicalPlan): Node = plan match {
    case source if source.children.isEmpty => () => rows(source).map(row => row.toSeq(source.schema))
    case Project(list, child) => new Rows(node(child), child, list)
    case Filter(condition, child) =>
      val (below, holds) = (node(child), bound(condition, child))
      () => below.batch().filter(row => holds.eval(InternalRow.fromSeq(row)) == true)
    case Expand(projections, _, child) =>
      val (below, values) = (node(child), projections.map(_.map(bound(_, child))))
      () => below.batch().flatMap(row => values.map(_.map(_.eval(InternalRow.fromSeq(row)))))
    case union: Union =>
      val parts = union.children.map(node)
      () => parts.flatMap(_.batch())
    case join: JoinFreeJoin => new Joined(join, join.scans.map(node))
    case groups: Groups => new Grouped(groups, node(groups.child))
    case other => throw new IllegalArgumentException(s"${other.nodeName} is not interpreted")
  }

  final private class Rows(below: Node, child: LogicalPlan, list: Seq[Expression]) extends Node {
    private[this] val values = list.map(bound(_, child))
    override def batch(): Seq[Weighted] = below.batch().map { row =>
      val in = InternalRow.fromSeq(row)
      values.map(_.eval(in))
    }
  }

  final private class Joined(join: JoinFreeJoin, scans: Seq[Node]) extends Node {
    private[this] val shape = join.shape
    private[this] val stored = scans.map(_ => mutable.Map.empty[Seq[Any], Long])
    private[this] var result = Map.empty[Seq[Any], Long]

    override def batch(): Seq[Weighted] = {
      scans.zip(stored).foreach { case (scan, rows) =>
        scan.batch().foreach { row =>
          val weight = rows.getOrElse(row.init, 0L) + row.last.asInstanceOf[Long]
          if (weight == 0L) rows -= row.init else rows(row.init) = weight
        }
      }
      val before = result
      result = joined
      val changes = mutable.Map.from(result)
      before.foreach { case (row, weight) => changes(row) = changes.getOrElse(row, 0L) - weight }
      changes.iterator.filter(_._2 != 0L).map { case (row, weight) => row :+ weight }.toSeq
    }

    private def joined: Map[Seq[Any], Long] = {
      val found = mutable.Map.empty[Seq[Any], Long].withDefaultValue(0L)
      def extend(rows: Vector[Seq[Any]], values: Map[Int, Any], weight: Long): Unit =
        if (rows.size == shape.relations.size) {
          val passes = shape.residuals.zip(join.residuals).forall { case (spec, condition) =>
            condition.eval(InternalRow.fromSeq(spec.columns.map(c => rows(c.relation)(c.ordinal)))) == true
          }
          if (passes) found(shape.output.map(c => rows(c.relation)(c.ordinal))) += weight
        } else
          for ((row, count) <- stored(rows.size)) {
            val keys = shape.relations(rows.size).keys.map(key => key.attribute -> row(key.ordinal))
            val fits = keys.forall { case (attribute, value) =>
              (value != null || shape.attributes(attribute).nullSafe) && values.get(attribute).forall(_ == value)
            }
            if (fits) extend(rows :+ row, values ++ keys, weight * count)
          }
      extend(Vector.empty, Map.empty, 1L)
      found.toMap
    }
  }

  final private class Grouped(groups: Groups, below: Node) extends Node {
    private[this] val keys = groups.shape.columns.map(_.dataType)
    private[this] val arguments = GroupArgument.of(groups.functions, groups.shape).toArray
    private[this] val store = new GroupsTaskSpec.StoreInMemory(keys)
    private[this] val schema = groups.schema

    override def batch(): Seq[Weighted] = {
      val touched = new TouchedGroups(arguments)
      val key = UnsafeProjection.create(keys.toArray)
      below.batch().foreach { row =>
        val in = InternalRow.fromSeq(row)
        touched(key(in)).add(in, row.last.asInstanceOf[Long])
      }
      val sent = touched.iterator.map { case (group, totals) => new JoinedRow(group, InternalRow(totals.toBytes)) }
      val task = new ChangingGroups(groups.shape, groups.functions, arguments, store, sent)
      task.read()
      task.changes.map(_.copy().toSeq(schema)).toSeq
    }
  }
}

private[exec] object InterpretedPlan {

  /** The values of a row, the weight last. */
  type Weighted = Seq[Any]

  def net(rows: Seq[Weighted]): Map[Seq[Any], Long] =
    rows.groupMapReduce(_.init)(_.last.asInstanceOf[Long])(_ + _).filter(_._2 != 0L)

  def bound(e: Expression, child: LogicalPlan): Expression = {
    val input: Seq[Attribute] = child.output
    BindReferences.bindReference(e, input)
  }
}
