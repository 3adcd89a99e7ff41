package io.joinless.spark.explain

import io.joinless.spark.placement.Placement
import io.joinless.spark.spec.{BlockSpec, SampleSpec}

/** A block's join tree and views as text for users: root, height, class, the cost that follows from
  * them, cells and shares, and each view with its columns.
  */
object JoinTreeText {

  /** The text of a block.
    *
    * @param sizes expected rows per relation, for the expected load; equal if nothing is known
    */
  def apply(spec: BlockSpec, sizes: IndexedSeq[Double]): String = {
    val facts = ViewTreeFacts(spec.shape)
    val lines = spec.shape.reduction match {
      case Some(reduction) => counts(spec, facts, ReducedFacts(spec.shape, reduction), sizes)
      case None => heading(spec, facts, sizes) ++ tree(facts.root, "  ", "")
    }
    lines.mkString("\n")
  }

  def apply(spec: BlockSpec): String = apply(spec, spec.relations.map(_ => 1.0))

  /** The lines about an enumerated block as a whole. */
  private def heading(spec: BlockSpec, facts: ViewTreeFacts, sizes: IndexedSeq[Double]): Seq[String] = {
    val lines = Seq(
      Some(s"${facts.form}, class ${facts.classes}"),
      Some(s"cost: ${facts.guarantee}"),
      spec.shape.sample.map(sample(spec, _, facts.conditions.nonEmpty)),
      Option.when(facts.changelogs.nonEmpty)(s"rows are inserted and deleted in: ${facts.changelogs.mkString(", ")}"),
      leaving(facts),
      Option.when(facts.keptForEver.nonEmpty)(
        s"rows are kept for ever: ${facts.keptForEver.map { case (r, why) => s"those of $r ($why)" }.mkString("; ")}"
      ),
      Some(placement(spec, sizes)),
      Option.when(facts.crossProduct.nonEmpty)(
        s"warning: no equi-join condition links ${facts.crossProduct.map(_.mkString(", ")).mkString(" with ")}: the result is their cross product"
      ),
      Option.when(facts.cuts.nonEmpty)(cycle(facts)),
      Option.when(facts.conditions.nonEmpty)(s"checked while enumerating: ${facts.conditions.mkString(", ")}"),
      Option.when(facts.output.nonEmpty)(s"result columns: ${facts.output.mkString(", ")}")
    )
    s"Join-free join of ${facts.relations.mkString(", ")}" +: lines.flatten.map("  " + _)
  }

  /** The sample that is kept of results, and what it costs.
    *
    * @param isChecked conditions are checked while results are enumerated, so that their number is
    *   not known: only a list of all shows which others could take the place of deleted ones
    */
  private def sample(spec: BlockSpec, sample: SampleSpec, isChecked: Boolean): String = {
    val groups = if (sample.isGrouped) s" of each group by ${SampleSpec.names(sample, spec)}" else ""
    val cells = if (sample.keyed) " in each cell, merged by their keys" else ", in one cell"
    val all = if (sample.isGrouped) "all results of their groups" else "all results"
    val walk = if (isChecked) s"; a batch that deletes sampled results lists $all" else ""
    s"sample: ${sample.size} results$groups are kept$cells; results are counted and not listed$walk"
  }

  /** The text of a block whose results are counted. */
  private def counts(
      spec: BlockSpec,
      facts: ViewTreeFacts,
      reduced: ReducedFacts,
      sizes: IndexedSeq[Double]
  ): Seq[String] = {
    val what = if (reduced.reduction.once) "whether there are any" else "how many there are"
    val counted = if (reduced.projected.isEmpty) what else s"$what per ${reduced.projected.mkString(", ")}"
    val lines = Seq(
      Some(s"emitted of its results: $counted"),
      Option.when(reduced.sums.nonEmpty)(s"added up over results: ${reduced.sums.mkString(", ")}"),
      Option.when(reduced.eliminated.nonEmpty)(s"summed up below: ${reduced.eliminated.mkString(", ")}"),
      Option.when(reduced.added.nonEmpty)(
        s"projected besides, because the query is not free-connex without: ${reduced.added.mkString(", ")}"
      ),
      Some(s"class ${reduced.queryClass.name}"),
      Some(s"cost: ${reduced.guarantee}"),
      Option.when(facts.changelogs.nonEmpty)(s"rows are inserted and deleted in: ${facts.changelogs.mkString(", ")}"),
      leaving(facts),
      Some(placement(spec, sizes)),
      Option.when(facts.cuts.nonEmpty)(cycle(facts)),
      Option.when(facts.conditions.nonEmpty)(s"checked per combination of counts: ${facts.conditions.mkString(", ")}")
    )
    (s"Join-free counts over ${facts.relations.mkString(", ")}" +: lines.flatten.map("  " + _)) ++
      reduced.tree.lines().map("  " + _)
  }

  /** When rows are removed, and of which relations; None if they stay. */
  private def leaving(facts: ViewTreeFacts): Option[String] = Option.when(facts.neededUntil.nonEmpty) {
    val how = if (facts.shape.expires) "are deleted, and results with them," else "are forgotten"
    val times = facts.neededUntil.map { case (relation, time) => s"$time (rows of $relation)" }
    s"rows $how when the watermark reaches: ${times.mkString("; ")}"
  }

  /** That the join conditions form a cycle, and which of them is checked later. */
  private def cycle(facts: ViewTreeFacts): String =
    s"the equi-join conditions are a cycle: ${facts.cuts.mkString(" and ")} is checked on each result of the others, which may be many more"

  /** Cells, shares, and the load of a cell, for these sizes of relations. */
  private def placement(spec: BlockSpec, sizes: IndexedSeq[Double]): String = {
    val p = Placement.of(spec.shape, spec.shares, sizes)
    val named = spec.divided.map { case (x, n) => s"$x $n" }
    val shares = if (named.isEmpty) "" else named.mkString(" (shares ", ", ", ")")
    val load = 100 * p.load / math.max(sizes.sum, 1)
    s"cells: ${p.cells}$shares, at most ${decimal(p.stored)} rows stored per input row, expected load of a cell " +
      s"${decimal(load)} % of all rows"
  }

  /** The lines of a node, its views and its subtree.
    *
    * @param first what stands before the node's name
    * @param rest the indentation of all further lines
    */
  private def tree(node: NodeFacts, first: String, rest: String): Seq[String] = {
    val key = node.key.filter(_.nonEmpty).fold("")(_.mkString(" on ", ", ", ""))
    val indent = if (rest.isEmpty) "  " else rest
    val views = node.views.map(v => s"$indent${if (node.children.isEmpty) "   " else "|  "}$v")
    val children = node.children.zipWithIndex.flatMap { case (child, i) =>
      tree(child, s"$indent+- ", indent + (if (i == node.children.size - 1) "   " else "|  "))
    }
    (s"$first${node.name}$key" +: views) ++ children
  }

  /** At most two decimals, without trailing zeros. */
  private def decimal(x: Double): String = "%.2f".formatLocal(java.util.Locale.ROOT, x).replaceAll("\\.?0+$", "")
}
