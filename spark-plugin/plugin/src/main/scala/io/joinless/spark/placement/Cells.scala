package io.joinless.spark.placement

import io.joinless.spark.spec.BlockSpec
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** The cells that a stored row is sent to, each with the row's roles there.
  *
  * A role takes the row unless one of its keys is NULL where NULL never joins. Its coordinate at
  * attribute x is `hash(key bytes, seed of x) mod share(x)`; at an attribute the relation lacks it
  * is every coordinate. Cells are numbered with the last attribute running fastest. A cell that
  * several roles choose gets the row once.
  *
  * '''Durable format, version 1''' (rows of a checkpoint are stored in the cells that this
  * computed; a change needs a new specVersion): the hash is 32-bit Murmur3 (x86) with seed
  * `0x4a4c0000 + x`, over the field's 8-byte word for fixed-width columns (`hashLong`), over the
  * value's bytes for variable-length ones (`hashUnsafeBytes`, Spark's tail treatment); NULL of a
  * null-safe attribute is the hash of nothing, the seed itself.
  *
  * Usage: `clear()`, `add(relation, row)` for each role that accepts the row, then read `cell(i)`,
  * `roles(i)` for i < `size`. Cost: one hash per key with a share above 1, O(1) per cell; nothing
  * is allocated. Not thread safe.
  */
final class Cells(spec: BlockSpec) {
  import Cells._

  private[this] val relations: Array[RelationPlacement] = spec.relations.indices.map(placement).toArray
  private[this] val masks = new Array[Long](spec.cells)
  private[this] val touched = new Array[Int](spec.cells)
  private[this] var count = 0

  def size: Int = count

  /** The i-th cell of the row, and below the row's roles there (bit set). */
  def cell(i: Int): Int = touched(i)
  def roles(i: Int): Long = masks(touched(i))

  /** Forgets the row before. */
  def clear(): Unit = {
    var i = 0
    while (i < count) { masks(touched(i)) = 0L; i += 1 }
    count = 0
  }

  /** Adds the cells of `row`, with the relation among its roles there; none if the row can join
    * nothing.
    *
    * @param row a row of the relation in the layout of its input
    */
  def add(relation: Int, row: UnsafeRow): Unit = {
    val r = relations(relation)
    if (r.joins(row)) {
      val first = r.firstCell(row)
      val bit = 1L << relation
      var i = 0
      while (i < r.offsets.length) {
        val c = first + r.offsets(i)
        if (masks(c) == 0L) { touched(count) = c; count += 1 }
        masks(c) |= bit
        i += 1
      }
    }
  }

  /** How rows of a relation are placed: by its attributes with several coordinates, in each
    * combination of the coordinates that it lacks.
    */
  private def placement(relation: Int): RelationPlacement = {
    val r = spec.relations(relation)
    val columns = spec.inputs(r.input).columns
    val strides = spec.strides
    val divided = r.keys.filter(k => spec.shares(k.attribute) > 1)
    val free = spec.attributes.indices.filter(x => spec.shares(x) > 1 && !r.keys.exists(_.attribute == x))
    val offsets = free.foldLeft(IndexedSeq(0)) { (offsets, x) =>
      for (o <- offsets; c <- 0 until spec.shares(x)) yield o + c * strides(x)
    }
    new RelationPlacement(
      neverNull = r.keys.filterNot(k => spec.attributes(k.attribute).nullSafe).map(_.ordinal).toArray,
      ordinals = divided.map(_.ordinal).toArray,
      variable = divided.map(k => !UnsafeRow.isFixedLength(columns(k.ordinal).dataType)).toArray,
      seeds = divided.map(k => Seed + k.attribute).toArray,
      shares = divided.map(k => spec.shares(k.attribute)).toArray,
      strides = divided.map(k => strides(k.attribute)).toArray,
      offsets = offsets.toArray
    )
  }
}

object Cells {
  final private val Seed = 0x4a4c0000

  /** Whether `cell` is the first of the cells that hold a row of the relation, if it holds any: the
    * one with coordinate 0 at all attributes that the relation lacks. Each row is in exactly one
    * such cell.
    */
  def isFirst(spec: BlockSpec, relation: Int, cell: Int): Boolean = {
    val strides = spec.strides
    val own = spec.relations(relation).keys.map(_.attribute).toSet
    spec.attributes.indices.forall(x => own(x) || cell / strides(x) % spec.shares(x) == 0)
  }

  /** The coordinate of a row's key at an attribute with several. */
  private[placement] def coordinate(spec: BlockSpec, attribute: Int, row: UnsafeRow, ordinal: Int, variable: Boolean) =
    Math.floorMod(hash(row, ordinal, variable, Seed + attribute), spec.shares(attribute))

  /** The hash of a key; a NULL has the seed itself. */
  private def hash(row: UnsafeRow, ordinal: Int, variable: Boolean, seed: Int): Int =
    if (row.isNullAt(ordinal)) seed
    else {
      val word = row.getLong(ordinal)
      if (variable)
        Murmur3_x86_32.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset + (word >>> 32), word.toInt, seed)
      else Murmur3_x86_32.hashLong(word, seed)
    }

  /** The cells of rows of one relation: the cell with coordinate 0 at the attributes that the
    * relation lacks (`firstCell`), and that plus each of `offsets`, the first of which is 0.
    */
  final private class RelationPlacement(
      neverNull: Array[Int],
      ordinals: Array[Int],
      variable: Array[Boolean],
      seeds: Array[Int],
      shares: Array[Int],
      strides: Array[Int],
      val offsets: Array[Int]
  ) {

    /** Whether none of the keys that NULL never joins is NULL. */
    def joins(row: UnsafeRow): Boolean = {
      var i = 0
      while (i < neverNull.length) {
        if (row.isNullAt(neverNull(i))) return false
        i += 1
      }
      true
    }

    /** The cell with the row's coordinates at its own attributes, and 0 at all others. No key may
      * be NULL where NULL never joins.
      */
    def firstCell(row: UnsafeRow): Int = {
      var cell = 0
      var i = 0
      while (i < ordinals.length) {
        cell += Math.floorMod(hash(row, i), shares(i)) * strides(i)
        i += 1
      }
      cell
    }

    /** The hash of the i-th of its keys with several coordinates. */
    private def hash(row: UnsafeRow, i: Int): Int = Cells.hash(row, ordinals(i), variable(i), seeds(i))
  }
}
