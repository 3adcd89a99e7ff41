package io.joinless.bench

import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef}
import scala.collection.immutable.BitSet

/** A query of benchmarks/jobs.py over edges `(src, dst)`: relation i reads input `inputs(i)`, and only edges of the last
  * relation whose dst is above `threshold` count.
  *
  * @param star all src are equal; otherwise a path, where the dst of one relation is the src of the next
  * @param columns how many of the vertices r_1.src, r_1.dst, r_2.dst, … a result row shows
  */
final case class GraphQuery(star: Boolean, inputs: IndexedSeq[Int], threshold: Long, columns: Int) {
  private val all = (1L << relations) - 1
  private val last = 1L << (relations - 1)
  private val rolesOf = inputs.distinct.indices.map(i => all & bits(relationsOf(i))).toArray

  def relations: Int = inputs.size

  def selfJoin: Boolean = inputs.distinct.size == 1

  /** The relations (bit set) that take an edge of the input. */
  def roles(input: Int, dst: Long): Long = if (dst > threshold) rolesOf(input) else rolesOf(input) & ~last

  /** The join block; an input where rows go is a changelog. */
  def block(deletes: Boolean): BlockDef = {
    val keys = (0 until relations).map { r =>
      if (star) IndexedSeq(0 -> GraphQuery.Src)
      else
        IndexedSeq((r - 1) -> GraphQuery.Src, r -> GraphQuery.Dst).filter { case (x, _) => x >= 0 && x < relations - 1 }
    }
    val graph = Hypergraph(keys.map(k => BitSet.fromSpecific(k.map(_._1))))
    BlockDef(
      IndexedSeq.fill(inputs.distinct.size)(InputDef(2, 3, deletes)),
      IndexedSeq.fill(keys.flatten.map(_._1).max + 1)(AttributeDef(nullSafe = false)),
      keys.indices.map(r => RelationDef(inputs(r), keys(r))),
      TreeSearch.best(graph).fold(core => sys.error(core.toString), identity)
    )
  }

  private def relationsOf(input: Int) = inputs.indices.filter(inputs(_) == input)

  private def bits(relations: Iterable[Int]) = relations.map(1L << _).sum
}

object GraphQuery {
  private val Src = KeyField(0, variable = false)
  private val Dst = KeyField(1, variable = false)
}
