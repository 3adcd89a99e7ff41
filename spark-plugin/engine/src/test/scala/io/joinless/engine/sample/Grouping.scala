package io.joinless.engine.sample

import scala.util.Random

import io.joinless.engine.oracle.{Case, CaseAttribute}
import io.joinless.engine.query.TreeSearch
import io.joinless.engine.sample.SampledTree.Copy

/** By which columns the results of a case are grouped, of each of which groups a sample is kept.
  *
  * @param by a relation and columns of it; none: all results are one group
  */
final case class Grouping(query: Case, by: Option[(Int, IndexedSeq[Int])]) {

  def isGrouped: Boolean = by.isDefined

  /** The group of a copy of a result: its values in these columns. */
  def group(copy: Copy): IndexedSeq[Option[Long]] = by.fold(IndexedSeq.empty[Option[Long]]) { case (r, columns) =>
    val row = query.inputs(query.relations(r).input).rows(copy.rows(r))
    columns.map(row(_))
  }
}

object Grouping {

  /** All results of a case as one group. */
  def none(query: Case): Grouping = Grouping(query, None)

  /** A case grouped by up to two columns of one of its relations, join keys or not; where NULL is
    * no value of a join key, it is one of other columns. The tree of the case is one with a tuple
    * of the root per group.
    */
  def draw(query: Case, random: Random): Grouping = {
    val r = random.nextInt(query.relations.size)
    val relation = query.relations(r)
    val input = query.inputs(relation.input)
    val columns = random.shuffle(input.columns.indices.take(6).toVector).take(1 + random.nextInt(2))
    val others = columns.filterNot(c => relation.keys.exists(_._2 == c))
    val first = query.attributes.size
    val keys = relation.keys ++ others.indices.map(i => (first + i, others(i)))
    val grouped = query.copy(
      attributes = query.attributes ++ others.map(c => CaseAttribute(input.columns(c), nullSafe = true)),
      relations = query.relations.updated(r, relation.copy(keys = keys))
    )
    val by = scala.collection.immutable.BitSet.fromSpecific(columns.map(c => keys.find(_._2 == c).get._1))
    val tree = TreeSearch.keyedBy(grouped.graph, by, IndexedSeq.fill(query.relations.size)(1.0)).get
    Grouping(grouped.copy(tree = tree), Some((r, columns)))
  }
}
