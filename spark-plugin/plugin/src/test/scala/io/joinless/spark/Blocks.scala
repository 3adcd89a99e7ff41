package io.joinless.spark

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.spark.spec._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, InterpretedUnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, LongType}

/** Hand-written specs of join blocks, and rows in their layout, for tests below the planner. */
object Blocks {

  /** One relation per argument: (attribute → ordinal of its column). All relations store `columns`,
    * in `inputs` inputs of their own or one shared. The output is every column of every relation.
    */
  def block(
      columns: Seq[DataType],
      sharedInput: Boolean = false,
      nullSafe: Set[Int] = Set.empty
  )(relations: Seq[(Int, Int)]*): BlockSpec = {
    val attributes = relations.flatten.map(_._1).distinct.size
    val layout =
      InputSpec(columns.zipWithIndex.map { case (t, i) => ColumnSpec(s"c$i", t) }.toIndexedSeq, InputKind.Appended)
    val graph = Hypergraph(relations.map(r => BitSet.fromSpecific(r.map(_._1))).toIndexedSeq)
    BlockSpec(
      BlockShape(
        id = NodeId(0),
        inputs = if (sharedInput) IndexedSeq(layout) else IndexedSeq.fill(relations.size)(layout),
        attributes = (0 until attributes).map { x =>
          val ordinal = relations.flatten.find(_._1 == x).get._2
          AttributeSpec(s"x$x", columns(ordinal), nullSafe(x))
        },
        relations = relations.zipWithIndex.map { case (keys, r) =>
          RelationSpec(s"r$r", if (sharedInput) 0 else r, keys.sorted.map { case (x, o) => KeySpec(x, o) }.toIndexedSeq)
        }.toIndexedSeq,
        tree = TreeSearch.best(graph).getOrElse(throw new IllegalArgumentException("cyclic")),
        residuals = IndexedSeq.empty,
        output = for (r <- relations.indices; c <- columns.indices) yield ColumnRef(r, c)
      ),
      IndexedSeq.fill(attributes)(1)
    )
  }

  /** r0(_, x0) ⋈ r1(x0, x1) ⋈ … on two bigint columns. */
  def path(hops: Int, sharedInput: Boolean = false): BlockSpec = block(Seq(LongType, LongType), sharedInput)(
    (0 until hops).map(i => (if (i > 0) Seq((i - 1, 0)) else Nil) ++ (if (i < hops - 1) Seq((i, 1)) else Nil)): _*
  )

  /** All relations are joined by their first column. */
  def star(arms: Int): BlockSpec = block(Seq(LongType, LongType))(Seq.fill(arms)(Seq((0, 0))): _*)

  def row(types: Seq[DataType], values: Any*): UnsafeRow =
    // interpreted: for one row that is cheaper than generating a class
    InterpretedUnsafeProjection
      .createProjection(types.zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) })
      .apply(InternalRow.fromSeq(values))
      .copy()

  def edge(src: Any, dst: Any): UnsafeRow = row(Seq(LongType, LongType), src, dst)
}
