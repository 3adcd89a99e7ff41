package io.joinless.spark.exec.figures

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.spark.spec.{BlockShape, BlockSpec}

/** The current number of rows of the relations of a block, and the steps that the best join tree
  * for these sizes would save. A tree is chosen when a checkpoint is new, by what is known then:
  * the settings.
  */
private[exec] object RelationSizes {

  /** Blocks with more relations are not considered: the search would take longer than a batch may.
    */
  final private val Most = 8

  /** Rows of each relation: those of its input, each once, however many cells have a copy.
    *
    * @param inputs per cell, the rows of each input
    */
  def apply(spec: BlockSpec, inputs: Seq[IndexedSeq[Long]]): IndexedSeq[Long] = spec.relations.map { relation =>
    val keys = relation.keys.map(_.attribute).toSet
    val copies = spec.shares.indices.filterNot(keys).map(spec.shares(_)).product
    inputs.map(_(relation.input)).sum / copies
  }

  /** How many percent fewer steps the changes would cost in the best tree than in the recorded one,
    * if relations change in proportion to their rows. The best tree is the lowest, and of these the
    * cheapest. 0 if it is not cheaper or is higher, if results are counted, or if there are more
    * than `Most` relations.
    */
  def percentSaved(shape: BlockShape, sizes: IndexedSeq[Long]): Long =
    if (shape.reduction.isDefined || sizes.size > Most || sizes.sum == 0) 0L
    else {
      val graph = Hypergraph(shape.relations.map(_.keys.map(_.attribute).to(BitSet)))
      val rows = sizes.map(_.toDouble)
      TreeSearch.best(graph, rows).fold(
        _ => 0L,
        best => {
          val (now, least) = (shape.tree.cost(rows), best.cost(rows))
          if (best.height > shape.tree.height || now <= least) 0L else math.round(100 * (1 - least / now))
        }
      )
    }
}
