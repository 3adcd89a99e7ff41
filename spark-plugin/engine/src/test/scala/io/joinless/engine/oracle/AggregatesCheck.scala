package io.joinless.engine.oracle

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.enumerate.FullAggregates
import io.joinless.engine.query.{BagNode, GeneralizedNode, RelationNode}
import io.joinless.engine.reduce.ReducedCase
import io.joinless.engine.tuples.{ProjectedField, RowProjection}
import io.joinless.engine.update.ChangeBatch
import io.joinless.engine.view.{AggregatesDef, Lift, ProjectedRows, ViewTree}

/** Compares the aggregates of a tree, with two sums, with those of the oracle's results: all in one
  * group, or grouped by some columns of the tree's root.
  */
final class AggregatesCheck(query: Case, random: Random) {
  import AggregatesCheck._

  /** By relation that meets the root, the columns of the group in its rows. None: no groups. */
  private[this] val columns: Map[Int, IndexedSeq[Int]] = query.tree match {
    case RelationNode(r, _, _) =>
      val all = query.inputs(query.relations(r).input).columns.indices.toIndexedSeq
      Map(r -> random.shuffle(all).take(random.nextInt(3)))
    case root: GeneralizedNode =>
      val attributes = random.shuffle(root.attributes.toIndexedSeq).take(random.nextInt(3))
      ProjectedRows.atRoot(root).map { r =>
        r -> attributes.map(a => query.relations(r).keys.collectFirst { case (`a`, c) => c }.get)
      }.toMap
    case bag: BagNode => throw new IllegalArgumentException(s"the results of $bag are not counted")
  }
  private[this] val isGrouped = columns.values.head.nonEmpty
  private[this] val (groupRelation, groupColumns) = columns.head

  private def kinds(relation: Int) = query.inputs(query.relations(relation).input).columns

  val definition: AggregatesDef = {
    val variable = columns.exists { case (r, of) => of.exists(kinds(r)) }
    AggregatesDef(
      ReducedCase.numbers,
      query.relations.indices.map(r => Some(new ReducedCase.Values(r): Lift)),
      if (!isGrouped) Map.empty
      else columns.map { case (r, of) => r -> of.map(c => ProjectedField(c, kinds(r)(c))) },
      if (variable) 0 else RowProjection.fixedWords(groupColumns.size)
    )
  }

  var groups, changed = 0

  /** The groups of these results, with their elements. */
  def expected(results: collection.Map[Long, Long]): Aggregates = {
    val aggregates = mutable.Map.empty[IndexedSeq[Long], IndexedSeq[Long]]
    for ((key, weight) <- results) {
      val rows = NaiveJoin.unpack(key, query.relations.size)
      def input(r: Int) = query.inputs(query.relations(r).input)
      val values = groupColumns.map(c => input(groupRelation).rows(rows(groupRelation))(c))
      val group =
        if (!isGrouped) IndexedSeq.empty[Long]
        else Rows.encode(values, groupColumns.map(kinds(groupRelation))).toIndexedSeq
      val (sums, products) =
        rows.zipWithIndex.map { case (row, r) => ReducedCase.values(r, input(r).words(row)) }.unzip
      val element = IndexedSeq(weight, weight * sums.product, weight * products.product)
      aggregates(group) = aggregates.getOrElse(group, Zero).zip(element).map { case (a, b) => a + b }
    }
    aggregates.toMap
  }

  /** What differs between all aggregates of the tree and those of these results, if anything. */
  def differs(tree: ViewTree, results: collection.Map[Long, Long]): Option[String] = {
    val (full, found) = (new FullAggregates(tree), mutable.Map.empty[IndexedSeq[Long], IndexedSeq[Long]])
    while (full.next()) {
      groups += 1
      found(group(tree, full.row)) = full.element.toIndexedSeq
    }
    val right = expected(results)
    Option.when(found.toMap != right)(s"aggregates $found, not $right")
  }

  /** Drains the changes of a batch whose results were read. What is wrong with them, if anything. */
  def drain(
      tree: ViewTree,
      batch: ChangeBatch,
      before: collection.Map[Long, Long],
      after: collection.Map[Long, Long]
  ): Option[String] = {
    val (was, is) = (expected(before), expected(after))
    val found = mutable.Map.empty[IndexedSeq[Long], IndexedSeq[Long]]
    val counted = new Array[Long](Zero.size)
    var wrong = Option.empty[String]
    while (batch.aggregates.next()) {
      changed += 1
      val of = group(tree, batch.aggregates.row)
      if (found.contains(of)) wrong = Some(s"group $of changes twice")
      batch.aggregates.readBefore(counted)
      if (counted.toIndexedSeq != was.getOrElse(of, Zero))
        wrong = Some(s"group $of had ${counted.mkString(", ")}, not ${was.getOrElse(of, Zero)}")
      found(of) = batch.aggregates.element.toIndexedSeq
    }
    val right = (was.keySet ++ is.keySet).iterator.map { of =>
      of -> is.getOrElse(of, Zero).zip(was.getOrElse(of, Zero)).map { case (a, b) => a - b }
    }.filter(_._2 != Zero).toMap
    val nonZero = found.filter(_._2 != Zero).toMap
    wrong.orElse(Option.when(nonZero != right)(s"aggregates change by $nonZero, not $right"))
  }

  private def group(tree: ViewTree, row: Int): IndexedSeq[Long] =
    if (!isGrouped) IndexedSeq.empty
    else {
      val arena = tree.projectedRows
      (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i))
    }
}

object AggregatesCheck {

  /** Group → element. */
  type Aggregates = Map[IndexedSeq[Long], IndexedSeq[Long]]

  val Zero: IndexedSeq[Long] = IndexedSeq(0L, 0L, 0L)
}
