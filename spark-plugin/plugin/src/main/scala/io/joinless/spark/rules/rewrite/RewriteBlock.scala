package io.joinless.spark.rules.rewrite

import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.reasons.UnboundedTime
import io.joinless.spark.plans.values.{DeltaForm, InPlaceOf, SumPart}
import io.joinless.spark.rules.blocks.{Conditions, OuterScope}
import io.joinless.spark.rules.counts.{CountedGroups, SumColumns, WeightedRows}
import io.joinless.spark.rules.extract.StaticSides
import io.joinless.spark.rules.meaning.{LeafSource, MeaningTexts, TimeZones}
import io.joinless.spark.rules.scans.{MergeScans, Scan}
import io.joinless.spark.spec.{
  BlockShape,
  ColumnSpec,
  MadeName,
  MeaningSpec,
  NodeId,
  ReducedBlock,
  ResultSpec,
  SqlTexts,
  StaticsAtArrival
}
import io.joinless.engine.query.JoinTree
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  BoundReference,
  Expression,
  Literal,
  NamedExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types.{DoubleType, LongType}

/** The plan that replaces a block: one node, which returns stored columns, and above it the
  * expressions that must be computed from them. It has the root's attributes, by their ids; all of
  * them nullable, because NULLs of one batch say nothing about the next.
  */
final class RewriteBlock(layout: BlockLayout) {

  /** The columns that are needed of results, in the recorded order, where that differs. */
  private val reordered: Option[IndexedSeq[Attribute]] = {
    val used = (layout.output.map(_._2) ++ layout.late).flatMap(OuterScope.attributes).distinctBy(_.exprId)
    val places = used.map(layout.place)
    layout.like.map(_.output).filter(was => was != places && was.size == places.size && was.toSet == places.toSet).map {
      _.map(column => used(places.indexOf(column)))
    }
  }

  /** Whether the node's columns are the whole output, so that no operator is needed above. */
  private val needsNothingAbove: Boolean =
    reordered.isEmpty && layout.late.isEmpty &&
      layout.output.forall(_._2.isInstanceOf[Attribute]) &&
      layout.output.distinctBy(_._1.exprId).size == layout.output.size

  /** The node's columns, as attributes of the leaves. */
  private val columns: IndexedSeq[Attribute] = {
    val used = (layout.output.map(_._2) ++ layout.late).flatMap(OuterScope.attributes)
    reordered.getOrElse(if (needsNothingAbove) used else used.distinctBy(_.exprId))
  }

  /** The output attributes of `columns`, one each. */
  private val attributes: IndexedSeq[Attribute] =
    if (needsNothingAbove) layout.output.map(_._1.withNullability(true))
    else
      columns.map { column =>
        val own = layout.output.collectFirst { case (a, m: Attribute) if m.exprId == column.exprId => a }
        own.getOrElse(column.newInstance()).withNullability(true)
      }

  /** The block as it is recorded. */
  def shape(id: NodeId, tree: JoinTree, texts: SqlTexts)(implicit statics: StaticSides): BlockShape =
    layout.shape(id, tree, columns)
      .having(ResultSpec, Some(result(texts)))
      .having(StaticsAtArrival, statics.atArrival)
      .having(MeaningSpec, Option.when(layout.changelogs.nonEmpty || layout.sample.isDefined)(meaning))

  /** The filters and expressions that must be the same for a delete as for its insert. */
  private def meaning: MeaningSpec = {
    val leaves = layout.block.leaves.indices
    MeaningSpec(
      leaves.map(i =>
        Option.when(layout.changelogs(i))(LeafSource.rows(scan(i, layout.block.leaves(i).plan), layout.keysOf(i)))
      ),
      MeaningTexts.ofConditions(layout.residuals ++ layout.late, layout.block.leaves),
      layout.output.map { case (_, value) => MeaningTexts.of(value, layout.block.leaves) },
      TimeZones.both(
        TimeZones.ofTexts(layout.residuals ++ layout.late ++ layout.output.map(_._2)),
        leaves.filter(layout.changelogs).map(i => TimeZones.ofTextsIn(scan(i, layout.block.leaves(i).plan)))
          .foldLeft(Option.empty[String])(TimeZones.both)
      )
    )
  }

  /** The expressions above the node, for readers of the checkpoint. */
  private def result(texts: SqlTexts): ResultSpec = {
    def positional(expression: Expression) = OuterScope.replace(expression) { a =>
      BoundReference(columns.indexWhere(_.exprId == a.exprId), a.dataType, nullable = true)
    }
    // a column that only a sum needs is not emitted with a row
    val emitted = layout.output.filterNot { case (a, _) => layout.block.summed.hidden(a.exprId) }
    ResultSpec(
      emitted.map { case (a, meaning) =>
        val name = if (MadeName.is(a.name)) MeaningTexts.of(meaning, layout.block.leaves) else a.name
        ColumnSpec(name, KeyBytes.storedType(a.dataType))
      },
      emitted.map { case (_, meaning) => texts.of(positional(meaning)) },
      layout.late.map(condition => texts.of(positional(condition))),
      layout.boundResiduals.map(texts.of),
      texts.confs
    )
  }

  /** The plan that replaces the block's root.
    *
    * @param inner rewrites the blocks inside a leaf
    */
  def plan(shape: BlockShape, inner: LogicalPlan => LogicalPlan): LogicalPlan = {
    val scans = merged(shape, i => scan(i, inner(layout.block.leaves(i).plan)))
    val lags = layout.times.collect { case (i, lag) if Conditions.isEventTime(layout.output(i)._1) => lag }
    val node = JoinFreeJoin(
      scans.map(_.plan),
      scans.map(_.roles),
      shape,
      layout.boundResiduals,
      attributes,
      lag = if (shape.forgets) lags.maxOption.getOrElse(0L) else 0L,
      unbounded = unbounded
    )
    if (needsNothingAbove) node else Project(restored, filtered(node))
  }

  /** The plan that replaces a GROUP BY over the block whose results are counted.
    *
    * @param inner rewrites the blocks inside a leaf
    */
  def plan(groups: CountedGroups, shape: BlockShape, inner: LogicalPlan => LogicalPlan): LogicalPlan = {
    val scans = merged(
      shape,
      { i =>
        val rows = scan(i, inner(layout.block.leaves(i).plan))
        Project(rows.output :+ Alias(Literal(1L), DeltaForm.Weight.column)(), rows)
      }
    )
    val projected = layout.output.map(_._1).zipWithIndex.filterNot { case (a, _) =>
      layout.block.summed.hidden(a.exprId)
    }
    groups.over(weighted(shape, scans), projected)
  }

  /** The node's columns that are times and unbounded: results can have any time in them, however
    * old.
    */
  private def unbounded: Seq[UnboundedTime] =
    for (i <- columns.indices; matches <- layout.unbounded(columns(i))) yield UnboundedTime(i, matches)

  /** The scans of all relations; those that read the same data are merged. `rows` is the plan of a
    * relation's rows.
    */
  private def merged(shape: BlockShape, rows: Int => LogicalPlan): Seq[Scan] =
    MergeScans(shape, layout.block.leaves.indices.map(i => Scan(rows(i), Seq(i))))

  /** Like `plan`, but returns changes of the result. The first columns are by position those of
    * the block's root. The columns of each sum follow, or the key of a sampled result, then the
    * weight.
    *
    * @param scans return rows of the relations, with their weights where rows carry weights
    */
  def weighted(shape: BlockShape, scans: Seq[Scan]): WeightedRows = {
    val weight = AttributeReference(DeltaForm.Weight.column, LongType, nullable = false)()
    val wordsPerSum = shape.reduction.fold(IndexedSeq.empty[Int])(ReducedBlock(shape, _).sumWords)
    val sums = wordsPerSum.map(n => Seq.fill(1 + n)(AttributeReference("sum", LongType, nullable = false)()))
    val key = layout.sample.filter(_.keyed).map(_ => AttributeReference("key", DoubleType, nullable = false)())
    val node = JoinFreeJoin(
      scans.map(_.plan),
      scans.map(_.roles),
      shape,
      layout.boundResiduals,
      (attributes ++ sums.flatten ++ key) :+ weight,
      deltas = true,
      unbounded = unbounded
    )
    val result = layout.output.map { case (_, meaning) => Alias(above(meaning), "result")() }
    // each sum has a number and n words, in 1 + n columns; they follow those of the result
    val wordsAndStarts = wordsPerSum.zip(wordsPerSum.scanLeft(result.size)((start, n) => start + 1 + n)).iterator
    val sumColumns = layout.block.summed.arguments.map(_.map(_.map { part =>
      val ownSum = Option.when(part.factors.nonEmpty)(wordsAndStarts.next()) // else it needs none
      SumColumns(ownSum.fold(0)(_._2), SumPart(ownSum.map(_._1), part.numbers, part.sums))
    }))
    val projected = layout.output.map {
      case (_, column: Attribute) => columns.indexWhere(_.exprId == column.exprId)
      case _ => -1
    }
    val text = (e: Expression) => MeaningTexts.of(OuterScope.replace(e)(meaningOf), layout.block.leaves)
    WeightedRows(
      Project((result ++ sums.flatten ++ key) :+ weight, filtered(node)),
      projected ++ key.map(_ => -1),
      text,
      layout.changelogs.nonEmpty || layout.sample.isDefined,
      sumColumns,
      layout.block.summed.keys.map(_.map(key => layout.output.indexWhere { case (a, _) => a.exprId == key.exprId }))
    )
  }

  /** The stored columns of the rows of relation `i`, read from `plan`. */
  def scan(i: Int, plan: LogicalPlan): LogicalPlan =
    layout.block.leaves(i).copy(plan = plan)
      .scan(layout.columns(i), layout.conditions(i))

  /** The expression over leaves that an attribute of the root stands for. */
  private def meaningOf(a: Attribute): Expression = {
    val output = if (layout.block.summed.hidden(a.exprId)) layout.block.output else layout.output
    output.collectFirst { case (own, meaning) if own.exprId == a.exprId => meaning }.getOrElse(a)
  }

  /** The node below a filter with the conditions that only Spark can evaluate. */
  private def filtered(node: JoinFreeJoin): LogicalPlan =
    layout.late.map(above).reduceOption(Conditions.and).fold[LogicalPlan](node)(Filter(_, node))

  /** An expression over leaves as one over the node's output. */
  private def above(expression: Expression): Expression =
    OuterScope.replace(expression)(a => attributes(columns.indexWhere(_.exprId == a.exprId)))

  /** The root's attributes, computed from the node's output. */
  private def restored: Seq[NamedExpression] = layout.output.map { case (attribute, meaning) =>
    restored(attribute, meaning)
  }

  /** An attribute of the root, computed from the node's output: the output column itself if it has
    * the same id.
    */
  private def restored(attribute: Attribute, meaning: Expression): NamedExpression = above(meaning) match {
    case same: Attribute if same.exprId == attribute.exprId => same
    case value => InPlaceOf(attribute, value)
  }
}
