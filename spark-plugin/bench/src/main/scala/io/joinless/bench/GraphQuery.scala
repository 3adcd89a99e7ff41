package io.joinless.bench

import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.view.{AttributeDef, BlockDef, RelationDef, ViewTree}
import scala.collection.immutable.BitSet

/** A query of benchmarks/jobs.py over edges `(src, dst)`. Relation i reads input `inputs(i)`; the
  * last relation has only edges whose dst is above `threshold`.
  *
  * @param star all src are equal; otherwise a path, where the dst of one relation is the src of the
  *     next
  * @param columns how many of the vertices r_1.src, r_1.dst, r_2.dst, … a result row projects
  * @param rows the encoding of edges as rows
  */
final case class GraphQuery(
    star: Boolean,
    inputs: IndexedSeq[Int],
    threshold: Long,
    columns: Int,
    rows: EdgeRow = EdgeRow.Plain
) {
  private val all = (1L << relations) - 1
  private val last = 1L << (relations - 1)
  private val rolesOf = inputs.distinct.indices.map(i => all & bits(relationsOf(i))).toArray

  def relations: Int = inputs.size

  def selfJoin: Boolean = inputs.distinct.size == 1

  /** The relations (bit set) that contain an edge of the input. */
  def roles(input: Int, dst: Long): Long = if (dst > threshold) rolesOf(input) else rolesOf(input) & ~last

  /** The join block; an input with deletes is a changelog. */
  def block(deletes: Boolean): BlockDef = {
    // the vertices on which relations join, each with as many attributes as it has columns
    def met(vertex: Int, columns: IndexedSeq[KeyField]) =
      columns.zipWithIndex.map { case (field, i) => columns.size * vertex + i -> field }
    val keys = (0 until relations).map { r =>
      if (star) met(0, rows.src)
      else (if (r > 0) met(r - 1, rows.src) else IndexedSeq.empty) ++
        (if (r < relations - 1) met(r, rows.dst) else IndexedSeq.empty)
    }
    val graph = Hypergraph(keys.map(k => BitSet.fromSpecific(k.map(_._1))))
    BlockDef(
      IndexedSeq.fill(inputs.distinct.size)(rows.input(deletes)),
      IndexedSeq.fill(keys.flatten.map(_._1).max + 1)(AttributeDef(nullSafe = false)),
      keys.indices.map(r => RelationDef(inputs(r), keys(r), vertices(r).map(fieldOf(r, _)))),
      TreeSearch.best(graph).fold(core => sys.error(core.toString), identity)
    )
  }

  /** The vertices of a result row at each pointer of an enumeration, with their offset in words. */
  def verticesByPointer(tree: ViewTree): IndexedSeq[IndexedSeq[(Int, Int)]] = {
    val pointers = for (r <- 0 until relations; v <- vertices(r)) yield {
      val (pointer, offset) = tree.location(r, fieldOf(r, v)).getOrElse(sys.error(s"no pointer to vertex $v"))
      pointer -> (v, offset)
    }
    (0 to math.max(relations - 1, pointers.map(_._1).max)).map(p =>
      pointers.collect { case (`p`, at) => at }.sortBy(_._2)
    )
  }

  /** The vertices of a result row that are read from a relation's row; a vertex of several
    * relations is read from one of them only.
    */
  def vertices(relation: Int): IndexedSeq[Int] = {
    val all = if (star && relation > 0) IndexedSeq(relation + 1)
    else if (star || relation == relations - 1) IndexedSeq(relation, relation + 1)
    else IndexedSeq(relation)
    all.filter(_ < columns)
  }

  /** The field of a relation's row that holds a vertex. */
  private def fieldOf(relation: Int, vertex: Int) = (if (vertex == relation) rows.src else rows.dst).head.ordinal

  private def relationsOf(input: Int) = inputs.indices.filter(inputs(_) == input)

  private def bits(relations: Iterable[Int]) = relations.map(1L << _).sum
}
