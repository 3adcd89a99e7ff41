package io.joinless.engine.view

import scala.collection.immutable.BitSet
import scala.collection.mutable.HashMap

import io.joinless.engine.query.BagNode
import io.joinless.engine.tuples.{IntLists, KeyField, KeyIndex, NotedKeys, PackedKeys, PagedLongs, TupleKeys}

/** The indexes by which the relations of a bag are intersected: of each relation a list of rows per
  * value of each attribute that it shares with others, and one per combination of all of them. For
  * the triangle R(a,b) ⋈ S(b,c) ⋈ T(c,a):
  * {{{
  *        rows by          rows by both
  * R      a, b             (a, b)
  * S      b, c             (b, c)
  * T      c, a             (c, a)
  * }}}
  * So a row that is bound in part leads to its candidates by any of its values, and one that is
  * bound in all of them is found by one probe. If the three are roles of one stream of edges, they
  * share its three indexes: a row is in a list if some role that uses the list has it, and `has`
  * says in which roles it is.
  *
  * Space: for each row, a constant number of ints per attribute of its input's relations; nothing
  * of any result. Only the package `update` changes them.
  */
final private[engine] class BagIndexes(block: BlockDef, keys: EdgeKeys) {
  import BagIndexes._

  // the attributes that two relations share, numbered
  private[this] val shared: IndexedSeq[Int] =
    block.relations.flatMap(_.keys.map(_._1)).groupBy(identity).filter(_._2.size > 1).keys.toIndexedSeq.sorted

  /** The number of attributes; sets of them are bits of a long. */
  val attributes: Int = shared.size
  require(attributes <= BagNode.MaxAttributes, s"a bag has at most ${BagNode.MaxAttributes} attributes")

  private[this] val byField = new HashMap[(Int, IndexedSeq[(KeyIndex, KeyField)]), RowsByKey]
  private[this] val present: Array[PagedLongs] =
    block.inputs.indices.map(i => if (block.relationsOf(i).length > 1) new PagedLongs else null).toArray

  /** What is stored of each relation. */
  val members: Array[BagMember] = block.relations.indices.map(member).toArray

  private def member(r: Int): BagMember = {
    val relation = block.relations(r)
    val singles = relation.keys.filter(key => shared.contains(key._1)).sortBy(_._2.ordinal).map { case (x, field) =>
      val index = keys.shared(BitSet(x), block.relations.indices.filter(block.relations(_).keys.exists(_._1 == x)))
      shared.indexOf(x) -> rows(r, IndexedSeq(index -> field))(
        new TupleKeys(index, keys.reader(r, BitSet(x)), new NotedKeys, above = null)
      )
    }
    val own = singles.map(_._2).toArray
    val packed = if (own.length > 1) new PackedKeys(own.map(_.keys)) else null
    val all =
      if (packed == null) own.headOption.orNull
      else
        rows(r, own.toIndexedSeq.flatMap(_.columns)) {
          new TupleKeys(keys.index(packed.keyWords), packed, new NotedKeys, above = null)
        }
    new BagMember(r, singles.map(_._1).toArray, own, all, packed, present(relation.input))
  }

  /** The rows by some of their columns, which relations of one input share. */
  private def rows(r: Int, columns: IndexedSeq[(KeyIndex, KeyField)])(keys: => TupleKeys): RowsByKey = {
    val found = byField.getOrElseUpdate(
      (block.relations(r).input, columns),
      new RowsByKey(columns, keys, new IntLists(block.removable))
    )
    found.roles |= 1L << r
    found
  }

  /** Heap held, without the indexes of keys, which are those of `keys`. */
  def bytes: Long =
    byField.valuesIterator.map(l => l.rows.bytes + l.keys.noted.bytes).sum +
      present.iterator.filter(_ != null).map(_.bytes).sum
}

private[engine] object BagIndexes {

  /** An input's rows by some of their columns.
    *
    * @param columns with the index of their values
    */
  final class RowsByKey(val columns: IndexedSeq[(KeyIndex, KeyField)], val keys: TupleKeys, val rows: IntLists) {

    /** The relations (bit set) that use these lists. */
    private[engine] var roles: Long = 0L
  }

  /** What is stored of a relation of a bag.
    *
    * @param attributes the numbers of its attributes, in the order of its columns
    * @param single the rows by each of these
    * @param all the rows by all of them; null if it has none
    * @param packed the key of `all`; null if that is a key of one attribute
    * @param present by row, the relations (bit set) of the input that have it; null if the input
    *   has one relation
    */
  final class BagMember(
      val relation: Int,
      val attributes: Array[Int],
      val single: Array[RowsByKey],
      val all: RowsByKey,
      packed: PackedKeys,
      present: PagedLongs
  ) {

    /** Its attributes as a bit set. */
    val attributeSet: Long = attributes.foldLeft(0L)(_ | 1L << _)

    /** Its lists, those of single attributes first. */
    val lists: Array[RowsByKey] = if (packed == null) single else single :+ all

    /** Whether the relation has a row that is in one of its lists. */
    def has(row: Int): Boolean = present == null || (present(row) >>> relation & 1L) != 0L

    /** The key in `all` with these ids of attributes; −1 if no row has it. `buffer` has a word for
      * each attribute.
      */
    def find(ids: Array[Int], buffer: Array[Long]): Int =
      if (packed == null) ids(attributes(0)) else packed.find(all.keys.index, ids, attributes, buffer)

    /** The relations (bit set) of the input that have the row; none if the input has one relation.
      */
    private[engine] def roles(row: Int): Long = if (present == null) 0L else present(row)
    private[engine] def setRoles(row: Int, roles: Long): Unit = if (present != null) present(row) = roles
  }
}
