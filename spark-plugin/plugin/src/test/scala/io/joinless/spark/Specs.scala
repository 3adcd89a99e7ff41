package io.joinless.spark

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{GeneralizedNode, RelationNode}
import io.joinless.spark.spec._
import org.apache.spark.sql.types._

/** Specs of small queries, as rules make them. */
object Specs {

  private val edge = InputSpec(IndexedSeq(ColumnSpec("src", LongType), ColumnSpec("dst", LongType)), InputKind.Appended)

  /** `e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src WHERE a.src <> c.dst`, root b. */
  val threeHops: BlockSpec = BlockSpec(
    BlockShape(
      id = NodeId(0),
      inputs = IndexedSeq(edge),
      attributes = IndexedSeq(
        AttributeSpec("a.dst", LongType, nullSafe = false),
        AttributeSpec("b.dst", LongType, nullSafe = false)
      ),
      relations = IndexedSeq(
        RelationSpec("a", 0, IndexedSeq(KeySpec(0, 1))),
        RelationSpec("b", 0, IndexedSeq(KeySpec(0, 0), KeySpec(1, 1))),
        RelationSpec("c", 0, IndexedSeq(KeySpec(1, 0)))
      ),
      tree = RelationNode(
        1,
        BitSet(0, 1),
        IndexedSeq(RelationNode(0, BitSet(0), IndexedSeq.empty), RelationNode(2, BitSet(1), IndexedSeq.empty))
      ),
      residuals = IndexedSeq(ResidualSpec("(NOT (a.src = c.dst))", IndexedSeq(ColumnRef(0, 0), ColumnRef(2, 1)))),
      output = IndexedSeq(ColumnRef(0, 0), ColumnRef(1, 1), ColumnRef(2, 1))
    ),
    IndexedSeq(2, 2)
  )

  /** A star on a collated null-safe key, under a generalized node, and a further relation that no
    * condition links.
    */
  val starAndOther: BlockSpec = {
    val name = StringType("UTF8_LCASE")
    val input = InputSpec(
      IndexedSeq(ColumnSpec("name", name), ColumnSpec("key(name)", BinaryType), ColumnSpec("v \"x\"", ArrayType(name))),
      InputKind.Changelog
    )
    def leaf(r: Int, attributes: BitSet) = RelationNode(r, attributes, IndexedSeq.empty)
    BlockSpec(
      BlockShape(
        id = NodeId(3),
        inputs = IndexedSeq(input, edge),
        attributes = IndexedSeq(AttributeSpec("s1.name", BinaryType, nullSafe = true)),
        relations = IndexedSeq(
          RelationSpec("s1", 0, IndexedSeq(KeySpec(0, 1))),
          RelationSpec("s2", 0, IndexedSeq(KeySpec(0, 1))),
          RelationSpec("other", 1, IndexedSeq.empty)
        ),
        tree = GeneralizedNode(
          BitSet.empty,
          IndexedSeq(
            GeneralizedNode(BitSet(0), IndexedSeq(leaf(0, BitSet(0)), leaf(1, BitSet(0)))),
            leaf(2, BitSet.empty)
          )
        ),
        residuals = IndexedSeq.empty,
        output = IndexedSeq(ColumnRef(0, 2), ColumnRef(2, 1))
      ),
      IndexedSeq(4)
    )
  }

  /** A pair of streams whose rows are evicted, or expire: by a time, by the end of a window, by the
    * later one of both.
    */
  def timed(kind: InputKind): BlockSpec = {
    val window = StructType(Seq(StructField("start", TimestampType), StructField("end", TimestampType)))
    val input = InputSpec(
      IndexedSeq(ColumnSpec("k", LongType), ColumnSpec("ts", TimestampType), ColumnSpec("w", window)),
      kind
    )
    def relation(name: String, until: TimeSpec*) =
      RelationSpec(name, 0, IndexedSeq(KeySpec(0, 0)), Some(LifetimeSpec(until.toIndexedSeq)))
    BlockSpec(
      BlockShape(
        id = NodeId(0),
        inputs = IndexedSeq(input),
        attributes = IndexedSeq(AttributeSpec("a.k", LongType, nullSafe = false)),
        relations = IndexedSeq(
          relation("a", TimeSpec(1, 3600000000L)),
          relation("b", TimeSpec(2, 0L), TimeSpec(1, -5000000L))
        ),
        tree = RelationNode(0, BitSet(0), IndexedSeq(RelationNode(1, BitSet(0), IndexedSeq.empty))),
        residuals = IndexedSeq.empty,
        output = IndexedSeq(ColumnRef(0, 1), ColumnRef(1, 2))
      ),
      IndexedSeq(2)
    )
  }
}
