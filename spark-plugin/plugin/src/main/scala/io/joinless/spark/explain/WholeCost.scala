package io.joinless.spark.explain

import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin, RowWindows}
import io.joinless.spark.plans.values.BestRows
import io.joinless.spark.spec.{BlockShape, FunctionKind, FunctionSpec}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The cost of a change of a source through a whole query of several operators, as a line of text
  * for users.
  *
  * Each block states the cost of its own views, per change of its own relations. But a change of a
  * group is one of a relation above it, and can match all rows there; a deleted maximum is searched
  * for anew; a window function reads a partition again. So the line has the costs of the joins, of
  * which O(1) is left out where there are others, and before them each cost that depends on more
  * than the change: on what is stored.
  * {{{
  * SELECT t.x FROM t WHERE t.ts = (SELECT MAX(ts) FROM t)
  *
  * the block of t and the total is a cross product: each new maximum matches every row of t
  * }}}
  * Blocks of one relation pass rows through. Groups of counts and sums read and write one row for
  * each group that a change touches.
  */
object WholeCost {
  import ViewTreeFacts.{Constant, PerChange}

  /** None if there is only one block, which states its cost itself. */
  def apply(plan: LogicalPlan): Option[String] = {
    val nodes = plan.collect { case node => node }
    val blocks = nodes.collect { case join: JoinFreeJoin => join.shape }
    val groups = nodes.collect { case groups: Groups => groups }
    val windows = nodes.collect { case windows: RowWindows => windows }
    val joins = blocks.filter(_.relations.size > 1)
    Option.when(groups.nonEmpty || windows.nonEmpty || blocks.size > 1) {
      val more = joins.flatMap(crossProduct) ++ groups.flatMap(ofGroups) ++ windows.flatMap(ofWindows)
      val all = if (joins.isEmpty) Constant else s"${ofJoins(joins)}, and O(1) per result of a join that changes"
      if (more.isEmpty) s"$Heading$all"
      else s"${Heading}not $PerChange: ${more.distinct.mkString("; ")}; all else: $all"
    }
  }

  /** The costs of the views of these joins (at least one), as one text: all different costs that are
    * not O(1) per change; if all are O(1), that of the first join.
    */
  private def ofJoins(joins: Seq[BlockShape]): String =
    joins.map(shape => shape.reduction.fold(ViewTreeFacts(shape).update)(ReducedFacts(shape, _).update)).distinct match {
      case Seq(one) => one
      case several => several.filterNot(_.startsWith(PerChange)) match {
          case Seq() => several.head
          case dear => dear.mkString("; ")
        }
    }

  /** The cost of a block without equi-join conditions between some of its relations, or between the
    * counts of their results.
    */
  private def crossProduct(shape: BlockShape): Option[String] = {
    val facts = ViewTreeFacts(shape)
    Option.when(facts.apart.nonEmpty)(facts.meetsAll)
  }

  /** The costs of groups that are more than constant per change, one for each such function. */
  private def ofGroups(groups: Groups): Seq[String] = groups.shape.functions.zip(groups.functions).flatMap {
    case (spec, function) if spec.values =>
      (spec.kind, function.function) match {
        case (FunctionKind.Least, _) =>
          Some(
            s"where the least value of a group is deleted, ${text(groups, spec)} looks for the next among the group's values"
          )
        case (FunctionKind.Greatest, _) =>
          Some(
            s"where the greatest value of a group is deleted, ${text(groups, spec)} looks for the next among the group's values"
          )
        case (FunctionKind.Best, best: BestRows) if best.limit.isDefined =>
          Some("the rows of a group are looked through once many of its first rows have been deleted")
        case (FunctionKind.Recomputed, _) =>
          Some(s"${text(groups, spec)} is computed anew over the values of each group that a change touches")
        case _ => None
      }
    case _ => None
  }

  /** The cost of windows. Partitions that hold first rows only are small if the number of these
    * rows is.
    */
  private def ofWindows(windows: RowWindows): Option[String] = {
    val few = windows.collectFirst { case groups: Groups =>
      groups.functions.exists(_.function match {
        case best: BestRows => best.limit.isDefined
        case _ => false
      })
    }.contains(true)
    Option.when(!few)("window functions are computed anew over each partition that a change touches")
  }

  private def text(groups: Groups, function: FunctionSpec): String = ReadableSql.above(groups.child)(function.text)

  final val Heading = "Whole query: "
}
