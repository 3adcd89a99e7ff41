package io.joinless.spark.exec

import io.joinless.engine.tuples.TupleArena
import io.joinless.spark.spec.{BlockSpec, RowCodec}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.DecimalType
import org.apache.spark.unsafe.Platform

/** One result as an `UnsafeRow`, written over the result before.
  *
  * Only the columns of relations whose row changed are written: for fixed-width columns one word each, and the null bits
  * where there are or were NULLs. Variable-length data lies in the order of `spec.output`; it is copied for changed
  * relations, and behind a column whose size changed.
  *
  * The row is the same object each time; it holds until the next `update`. Cost: O(columns of changed relations), plus the
  * variable-length columns behind the first that changed size. Nothing is allocated but by growth.
  *
  * @param arena arena of each relation's rows
  * @param numbers so many columns follow, the last of them the weight of the change
  */
final class OutputRow(spec: BlockSpec, arena: Int => TupleArena, numbers: Int = 0) {
  import OutputRow._

  private[this] val fields = spec.output.size + numbers
  private[this] val nullWords = RowCodec.nullWords(fields)
  private[this] val fixedBytes = 8 * (nullWords + fields)
  private[this] val sources: Array[Source] =
    spec.output.indices.groupBy(spec.output(_).relation).toArray.sortBy(_._1).map {
      case (relation, columns) =>
        val layout = spec.inputs(spec.relations(relation).input).columns
        val (fixed, variable) = columns.partition(c => UnsafeRow.isFixedLength(layout(spec.output(c).ordinal).dataType))
        new Source(
          relation,
          arena(relation),
          RowCodec.nullWords(layout.size),
          fixed.map(spec.output(_).ordinal).toArray,
          fixed.toArray,
          variable.nonEmpty
        )
    }
  private[this] val variable: Array[Variable] = spec.output.indices.flatMap { c =>
    val ref = spec.output(c)
    val columnType = spec.inputs(spec.relations(ref.relation).input).columns(ref.ordinal).dataType
    if (UnsafeRow.isFixedLength(columnType)) None
    else Some(new Variable(
      sources.find(_.relation == ref.relation).get,
      ref.ordinal,
      c,
      columnType.isInstanceOf[DecimalType]
    ))
  }.toArray
  private[this] val variableRelations: Long =
    sources.iterator.filter(_.hasVariable).map(s => 1L << s.relation).foldLeft(0L)(_ | _)

  private[this] var buffer = new Array[Byte](fixedBytes)
  private[this] val row = new UnsafeRow(fields)
  row.pointTo(buffer, fixedBytes)

  /** @param rows row id per relation
    * @param changed relations whose row may differ from the one of the update before; all of them the first time
    */
  def update(rows: Array[Int], changed: Long): UnsafeRow = {
    var s = 0
    while (s < sources.length) {
      val source = sources(s)
      if ((changed >>> source.relation & 1L) != 0L) {
        source.pointTo(rows(source.relation))
        writeFixed(source)
      }
      s += 1
    }
    if ((changed & variableRelations) != 0L) writeVariable(changed)
    row
  }

  /** As `update`, with a weight. */
  def update(rows: Array[Int], changed: Long, weight: Long): UnsafeRow = {
    val row = update(rows, changed)
    row.setLong(fields - 1, weight)
    row
  }

  /** As `update`, with sums and a weight: `element` has the weight, then the sums. */
  def update(rows: Array[Int], changed: Long, element: Array[Long]): UnsafeRow = {
    var i = 1
    while (i < numbers) {
      setLong(i - 1, element(i))
      i += 1
    }
    update(rows, changed, element(0))
  }

  private def setLong(number: Int, value: Long): Unit =
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + 8L * (nullWords + spec.output.size + number), value)

  private def writeFixed(source: Source): Unit = {
    val base = Platform.BYTE_ARRAY_OFFSET + 8L * nullWords
    val words = source.page
    val from = source.start + source.nullWords
    var i = 0
    while (i < source.ordinals.length) {
      Platform.putLong(buffer, base + 8L * source.columns(i), words(from + source.ordinals(i)))
      i += 1
    }
    val nulls = source.anyNull
    if (nulls || source.wroteNulls) {
      i = 0
      while (i < source.ordinals.length) {
        setNull(source.columns(i), source.isNull(source.ordinals(i)))
        i += 1
      }
      source.wroteNulls = nulls
    }
  }

  private def writeVariable(changed: Long): Unit = {
    val base = Platform.BYTE_ARRAY_OFFSET + 8L * nullWords
    var at = fixedBytes
    var i = 0
    while (i < variable.length) {
      val v = variable(i)
      val fresh = (changed >>> v.source.relation & 1L) != 0L
      if (fresh) {
        val isNull = v.source.isNull(v.ordinal)
        setNull(v.column, isNull)
        v.from = if (isNull) -1 else v.source.word(v.ordinal)
        v.bytes = if (isNull) 0 else if (v.wideDecimal) 16 else (v.from.toInt + 7) & ~7
      }
      if (fresh || v.at != at) {
        if (v.from == -1) Platform.putLong(buffer, base + 8L * v.column, 0L)
        else {
          reserve(at, v.bytes)
          Platform.copyMemory(
            v.source.page,
            Platform.LONG_ARRAY_OFFSET + 8L * v.source.start + (v.from >>> 32),
            buffer,
            Platform.BYTE_ARRAY_OFFSET.toLong + at,
            v.bytes
          )
          Platform.putLong(buffer, base + 8L * v.column, at.toLong << 32 | (v.from & 0xffffffffL))
        }
        v.at = at
      }
      at += v.bytes
      i += 1
    }
    row.pointTo(buffer, at)
  }

  private def reserve(at: Int, bytes: Int): Unit =
    if (buffer.length - at < bytes)
      buffer = java.util.Arrays.copyOf(
        buffer,
        math.max(math.addExact(at, bytes), math.min(2L * buffer.length, Int.MaxValue - 15L).toInt)
      )

  private def setNull(column: Int, isNull: Boolean): Unit = {
    val at = Platform.BYTE_ARRAY_OFFSET + 8L * (column >> 6)
    val word = Platform.getLong(buffer, at)
    val bit = 1L << (column & 63)
    Platform.putLong(buffer, at, if (isNull) word | bit else word & ~bit)
  }
}

private object OutputRow {

  /** The current row of one relation, and where its fixed-width columns go. */
  final class Source(
      val relation: Int,
      arena: TupleArena,
      val nullWords: Int,
      val ordinals: Array[Int],
      val columns: Array[Int],
      val hasVariable: Boolean
  ) {
    var page: Array[Long] = null
    var start = 0
    var wroteNulls = false

    def pointTo(row: Int): Unit = {
      page = arena.page(row)
      start = arena.start(row)
    }

    def word(ordinal: Int): Long = page(start + nullWords + ordinal)

    def isNull(ordinal: Int): Boolean = (page(start + (ordinal >> 6)) >>> (ordinal & 63) & 1L) != 0L

    def anyNull: Boolean = {
      var i = 0
      while (i < nullWords) {
        if (page(start + i) != 0L) return true
        i += 1
      }
      false
    }
  }

  /** A variable-length column: where it comes from, and where its data lies now. `from` is −1 where it is NULL. */
  final class Variable(val source: Source, val ordinal: Int, val column: Int, val wideDecimal: Boolean) {
    var from: Long = -1L
    var bytes = 0
    var at = -1
  }
}
