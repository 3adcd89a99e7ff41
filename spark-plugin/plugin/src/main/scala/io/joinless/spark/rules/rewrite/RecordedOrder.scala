package io.joinless.spark.rules.rewrite

import io.joinless.spark.rules.blocks.{JoinBlock, Leaf}
import io.joinless.spark.spec.{BlockShape, ColumnSpec}
import io.joinless.spark.spec.RecordedQuery.likely
import org.apache.spark.sql.catalyst.plans.logical.{Project, Union}
import org.apache.spark.sql.joinless.KeyBytes

/** A block that continues a recorded one which stores the same columns in another order: the
  * columns of a source changed their positions.
  *
  * {{{
  * recorded: a stores k, x, s    schema of the source now: s, x, k    the leaf of a: k, x, s
  * }}}
  * Columns are identified by their names. The contents of a checkpoint, and all that it records by
  * position (keys, attributes, lifetimes, columns of results), stay unchanged: the query's leaves
  * are projected to that order before the layout is made. Where two columns of a relation have one
  * name and type, they cannot be distinguished, and the block is compared unchanged. (A compiled
  * query restores the order as a whole, where its checkpoint records it.)
  */
private[spark] object RecordedOrder {

  /** The layout of a block, by `layoutOf`; in the order of one of the recorded blocks, where only
    * the order differs. Of several blocks with these columns it is one of the same sources, and of
    * these one whose relations have the same names. A wrong choice would do no harm: the block is
    * compared with its record.
    *
    * @param readsSame whether a recorded block reads the same sources
    */
  def apply(block: JoinBlock, recorded: Seq[BlockShape], readsSame: BlockShape => Boolean = _ => true)(
      layoutOf: JoinBlock => BlockLayout
  ): BlockLayout = {
    val layout = layoutOf(block)
    val ownColumns = layout.schemas.map(_.columns)
    val names = block.leaves.map(_.name)
    val alike = recorded.filter(shape => sameColumns(stored(shape), ownColumns))
    val recordedAlike = likely(likely(alike)(readsSame))(_.relations.map(_.name) == names)
    if (recordedAlike.isEmpty || recordedAlike.exists(stored(_) == ownColumns)) layout
    else {
      val leaves = block.leaves.zip(stored(recordedAlike.head)).map { case (leaf, columns) => ordered(leaf, columns) }
      layoutOf(block.copy(leaves = leaves)).copy(like = recordedAlike.headOption)
    }
  }

  /** The stored columns of each relation of a recorded block. */
  private def stored(shape: BlockShape): IndexedSeq[IndexedSeq[ColumnSpec]] =
    shape.relations.map(r => shape.inputs(r.input).columns)

  /** Whether the relations store the same columns in any order, and no relation has a column twice.
    */
  private def sameColumns(
      recorded: IndexedSeq[IndexedSeq[ColumnSpec]],
      own: IndexedSeq[IndexedSeq[ColumnSpec]]
  ): Boolean = recorded.size == own.size && recorded.zip(own).forall { case (was, is) =>
    was.size == is.size && is.distinct.size == is.size && was.toSet == is.toSet
  }

  /** The leaf with the recorded columns first, in that order, and then the others in their own. A
    * union stays unchanged: a column of it is one in each part, and is compared as it is.
    */
  private def ordered(leaf: Leaf, recorded: IndexedSeq[ColumnSpec]): Leaf = leaf.plan match {
    case _: Union => leaf
    case plan =>
      val places = leaf.attributes.indices.sortBy { i =>
        val a = leaf.attributes(i)
        val recordedAt = recorded.indexOf(ColumnSpec(a.name, KeyBytes.storedType(a.dataType)))
        if (recordedAt < 0) recorded.size + i else recordedAt
      }
      if (places == leaf.attributes.indices) leaf
      else {
        val columns = places.map(leaf.columns)
        leaf.copy(plan = Project(columns, plan), columns = columns, attributes = places.map(leaf.attributes))
      }
  }
}
