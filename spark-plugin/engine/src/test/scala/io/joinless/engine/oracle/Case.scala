package io.joinless.engine.oracle

import java.nio.LongBuffer

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{Hypergraph, JoinTree}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef}

/** A query and batches of changes as plain data: drawn by a generator, run by [[EngineRun]], stored
  * in a regression file.
  *
  * Rows are drawn from a fixed stock per input and named by their position there. With `negatives`,
  * rows may be deleted before they are inserted: their counts become negative.
  */
final case class Case(
    attributes: IndexedSeq[CaseAttribute],
    inputs: IndexedSeq[CaseInput],
    relations: IndexedSeq[CaseRelation],
    tree: JoinTree,
    residuals: IndexedSeq[CaseResidual],
    batches: IndexedSeq[IndexedSeq[CaseChange]],
    negatives: Boolean = false
) {
  def graph: Hypergraph = Hypergraph(relations.map(r => BitSet.fromSpecific(r.keys.map(_._1))))

  def block: BlockDef = BlockDef(
    inputs.map(_.definition),
    attributes.map(a => AttributeDef(a.nullSafe)),
    relations.zipWithIndex.map { case (r, i) =>
      RelationDef(
        r.input,
        r.keys.map { case (a, column) => a -> KeyField(column, attributes(a).variable) },
        projected(i)
      )
    },
    tree
  )

  /** Up to four projected columns of fixed width, keys or not; none for some relations. */
  private def projected(relation: Int): IndexedSeq[Int] = {
    val columns = inputs(relations(relation).input).columns
    val fixed = columns.indices.filterNot(columns)
    val (first, rest) = fixed.splitAt(if (fixed.isEmpty) 0 else batches.size % fixed.size)
    (rest ++ first).take((relation + batches.size) % 5)
  }

  /** The relations of `input` that may contain `row`: those without a NULL in an attribute where
    * NULL joins nothing.
    */
  def roles(input: Int, row: Int): Long = {
    val values = inputs(input).rows(row)
    relations.indices.filter { r =>
      relations(r).input == input &&
      relations(r).keys.forall { case (a, column) => attributes(a).nullSafe || values(column).isDefined }
    }.map(1L << _).sum
  }
}

final case class CaseAttribute(variable: Boolean, nullSafe: Boolean)

/** @param columns whether each column varies in length
  * @param rows values; NULL is None, a variable column holds [[Rows.text]] of the number
  */
final case class CaseInput(
    retractable: Boolean,
    columns: IndexedSeq[Boolean],
    rows: IndexedSeq[IndexedSeq[Option[Long]]]
) {
  def definition: InputDef =
    InputDef(columns.size, if (columns.contains(true)) 0 else Rows.headWords(columns.size), retractable)

  lazy val words: IndexedSeq[Array[Long]] = rows.map(Rows.encode(_, columns))

  private lazy val stock = words.map(w => LongBuffer.wrap(w)).zipWithIndex.toMap

  /** The row of the stock with this content. */
  def rowOf(page: Array[Long], start: Int, words: Int): Int = stock(LongBuffer.wrap(page, start, words))
}

/** @param keys pairs of attribute and column */
final case class CaseRelation(input: Int, keys: IndexedSeq[(Int, Int)])

/** A condition over relations that about two of three combinations pass. */
final case class CaseResidual(relations: IndexedSeq[Int], salt: Int) {
  def accept(row: Int => Int): Boolean =
    (relations.foldLeft(salt)((h, r) => (h * 31 + row(r)) * 0x9e3779b1 ^ (h >>> 7)) >>> 8) % 3 != 0
}

/** `weight` copies of a row are inserted into (deleted from, if negative) the relations `roles`. */
final case class CaseChange(input: Int, row: Int, roles: Long, weight: Long)

/** Rows as the engine stores them. */
object Rows {

  def headWords(fields: Int): Int = (fields + 63) / 64 + fields

  def encode(values: IndexedSeq[Option[Long]], variable: IndexedSeq[Boolean]): Array[Long] = {
    val nullWords = (values.size + 63) / 64
    val words = Array.newBuilder[Long]
    val head = new Array[Long](headWords(values.size))
    var offset = head.length
    for (i <- values.indices) values(i) match {
      case None => head(i >> 6) |= 1L << (i & 63)
      case Some(value) if variable(i) =>
        val bytes = text(value)
        head(nullWords + i) = (8L * offset) << 32 | bytes.length
        val data = new Array[Long]((bytes.length + 7) / 8)
        for (b <- bytes.indices) data(b / 8) |= (bytes(b) & 0xffL) << (8 * (b % 8))
        words ++= data
        offset += data.length
      case Some(value) => head(nullWords + i) = value
    }
    head ++ words.result()
  }

  /** Different bytes for different numbers: none, a few, some that differ by a zero byte only, more
    * than a word.
    */
  def text(value: Long): Array[Byte] = value match {
    case 0 => Array.empty
    case 1 => Array('a')
    case 2 => Array('a', 0)
    case 3 => Array('a', 0, 0, 0, 0, 0, 0, 0, 'b')
    case _ => s"a long text with the number $value".getBytes("UTF-8")
  }
}
