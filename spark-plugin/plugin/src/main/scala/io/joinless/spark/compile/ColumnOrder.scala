package io.joinless.spark.compile

import io.joinless.spark.compile.template.FirstRows
import io.joinless.spark.plans.nodes.StreamRef
import org.apache.spark.sql.catalyst.expressions.NamedExpression
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Filter,
  Join,
  LogicalPlan,
  Project,
  Window,
  WindowGroupLimit
}

/** The columns of an optimized query in the order of its checkpoint, where a source has reordered
  * its columns since.
  *
  * All that a compiled query stores (rows of relations, keys of matches, first rows of groups) is
  * laid out by the order in which its streams and projections pass columns on. Where they prune
  * columns, that is the order of the source:
  * {{{
  * SELECT a.k, b.s FROM t a LEFT JOIN t b ON a.k = b.k AND a.x < b.x
  *
  * t (k, x, s), when the checkpoint was begun:     reads [k, x] of a, [k, x, s] of b
  * t (s, x, k), now:                               reads [x, k] of a, [s, x, k] of b
  * }}}
  * So the query is ordered before it is compiled, and compiles as it did then. Columns are
  * identified by their names. A wrong choice would do no harm: what is compiled is compared with
  * the checkpoint.
  */
private[compile] object ColumnOrder {

  /** The names of the columns of each stream and projection, from above. */
  def of(query: LogicalPlan): IndexedSeq[IndexedSeq[String]] = {
    val below = if (isStream(query)) Nil else query.children.flatMap(of)
    if (isOrdered(query)) names(query) +: below.toIndexedSeq else below.toIndexedSeq
  }

  /** The query with its columns in a recorded order; those of its result stay in theirs.
    *
    * @param recorded the columns of streams and projections of the queries in the checkpoint that
    *   may be this one; it is the one that has the same columns
    */
  def restored(query: LogicalPlan, recorded: Seq[IndexedSeq[IndexedSeq[String]]]): LogicalPlan = {
    val own = of(query)

    /** Whether these are the query's own columns up to their order. */
    def isOwn(columns: IndexedSeq[IndexedSeq[String]]) =
      columns.size == own.size && columns.zip(own).forall { case (was, is) => was.sorted == is.sorted }
    if (recorded.contains(own)) query
    else recorded.find(isOwn).fold(query)(columns => inOrder(query, columns.iterator))
  }

  /** The plan with its streams and projections in the recorded order, and its own columns in the
    * order they have now.
    */
  private def inOrder(plan: LogicalPlan, recorded: Iterator[IndexedSeq[String]]): LogicalPlan = {
    val changed = inAnyOrder(plan, recorded)
    if (ids(changed) == ids(plan)) changed else Project(plan.output, changed)
  }

  /** As `inOrder`, below an operator that finds columns by their ids, so that the order of the
    * plan's own columns may change. Takes an element of `recorded` for each stream and projection,
    * in preorder, as `of` lists them.
    */
  private def inAnyOrder(plan: LogicalPlan, recorded: Iterator[IndexedSeq[String]]): LogicalPlan = {
    val columns = Option.when(isOrdered(plan))(recorded.next())
    val changed = plan match {
      case _ if isStream(plan) => plan
      case _: Project | _: Filter | _: Join | _: Aggregate | _: Window | _: WindowGroupLimit | _: FirstRows =>
        plan.mapChildren(inAnyOrder(_, recorded))
      case _ => plan.mapChildren(inOrder(_, recorded))
    }
    columns.fold(changed)(ordered(changed, _))
  }

  /** A stream or projection, possibly below filters, with its columns in this order. It stays as it
    * is where names do not identify its columns. A projection lists its columns in the order; a
    * stream gets one.
    */
  private def ordered(plan: LogicalPlan, columns: IndexedSeq[String]): LogicalPlan =
    if (names(plan) == columns || columns.distinct.size < columns.size) plan
    else {
      def inOrder(list: Seq[NamedExpression]) = columns.map(name => list(list.indexWhere(_.name == name)))
      plan match {
        case Project(list, child) => Project(inOrder(list), child)
        case Filter(condition, child) => Filter(condition, ordered(child, columns))
        case stream => Project(inOrder(stream.output), stream)
      }
    }

  /** Whether `of` lists the columns of this node. */
  private def isOrdered(plan: LogicalPlan): Boolean = plan.isInstanceOf[Project] || isStream(plan)

  /** Whether these are rows of one stream. */
  private def isStream(plan: LogicalPlan): Boolean = plan match {
    case _: StreamRef => true
    case _: Project | _: Filter => isStream(plan.children.head)
    case _ => false
  }

  private def names(plan: LogicalPlan): IndexedSeq[String] = plan.output.map(_.name).toIndexedSeq

  private def ids(plan: LogicalPlan) = plan.output.map(_.exprId)
}
