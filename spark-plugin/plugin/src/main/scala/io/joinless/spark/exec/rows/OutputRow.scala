package io.joinless.spark.exec.rows

import io.joinless.engine.enumerate.{Results, Run, WordPointers}
import io.joinless.engine.tuples.{InlinedWords, TupleArena}
import io.joinless.spark.spec.{BlockSpec, ColumnRef, Roles, RowCodec}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.DecimalType
import org.apache.spark.unsafe.Platform

/** One result as an `UnsafeRow`, which overwrites the result before.
  *
  * Only the columns of relations whose row changed are written: for fixed-width columns one word
  * each, and the null bits if there are or were NULLs. Variable-length data is stored in the order
  * of `spec.output`; it is copied for changed relations, and after a column whose size changed.
  *
  * The row is the same object each time; it is valid until the next `update`. Cost: O(columns of
  * changed relations), plus the variable-length columns after the first that changed size. Nothing
  * is allocated but by growth.
  *
  * @param arena arena of each relation's rows
  * @param words words inlined with each relation's rows in lists, null if there are none
  * @param place of a relation's column: its position in results (`ViewTree.location`); None if it
  *   is read from the row
  * @param numbers number of columns that follow, the last of them the weight of the change
  */
final class OutputRow(
    spec: BlockSpec,
    arena: Int => TupleArena,
    numbers: Int = 0,
    words: Int => InlinedWords = _ => null,
    place: (Int, Int) => Option[(Int, Int)] = (_, _) => None
) {
  import OutputRow._

  private[this] val fields = spec.output.size + numbers
  private[this] val nullWords = RowCodec.nullWords(fields)
  private[this] val fixedBytes = 8 * (nullWords + fields)

  /** Columns that are read from keys, by the position of the key in results. */
  private[this] val keys: Array[Key] =
    spec.output.indices.flatMap(c => keyPlace(spec.output(c)).map(_ -> c)).groupMap(_._1)(_._2).toArray.sortBy(_._1).map {
      case (place, columns) => new Key(place, columns.toArray)
    }
  private[this] val sources: Array[Source] =
    spec.output.indices.filter(c => keyPlace(spec.output(c)).isEmpty).groupBy(spec.output(_).relation).toArray.sortBy(
      _._1
    ).map {
      case (relation, columns) =>
        val layout = spec.inputs(spec.relations(relation).input).columns
        val (fixed, variable) = columns.partition(c => UnsafeRow.isFixedLength(layout(spec.output(c).ordinal).dataType))
        new Source(
          relation,
          arena(relation),
          words(relation),
          RowCodec.nullWords(layout.size),
          fixed.map(spec.output(_).ordinal).toArray,
          fixed.map(c => place(relation, spec.output(c).ordinal).fold(-1)(_._2)).toArray,
          fixed.toArray,
          fixed.map(c => Platform.BYTE_ARRAY_OFFSET + 8L * (nullWords + c)).toArray,
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
    Roles.of(sources.filter(_.hasVariable).map(_.relation))

  /** By relation; null if none of its columns is projected. */
  private[this] val sourceOf: Array[Source] =
    spec.relations.indices.map(r => sources.find(_.relation == r).orNull).toArray

  private[this] var buffer = new Array[Byte](fixedBytes)
  private[this] val row = new UnsafeRow(fields)
  row.pointTo(buffer, fixedBytes)

  /** Results that differ in one row only: `update` writes the first of them, `nextOfRun` the
    * others.
    */
  val run = new Run
  private[this] var turns = 0 // results of the run that are not written yet
  private[this] var at = 0 // where the record of the written result starts
  private[this] var turning: Source = null // the relation of the run; null if none of its columns is projected
  private[this] var inlinedOnly = false // all columns that change are in the records, without a NULL

  /** Writes a result, the first of a run if it is one; `nextOfRun` writes the others. */
  def update(results: Results): UnsafeRow = {
    val first = update(results.rows, results.changed, results.pointers)
    turns = math.max(0, run.size - 1)
    if (turns > 0) {
      at = run.from
      turning = sourceOf(run.relation)
      inlinedOnly = turning != null && turning.isInlined && !turning.hasVariable && !turning.wroteNulls
    }
    first
  }

  /** As `update`, with a weight. */
  def update(results: Results, weight: Long): UnsafeRow = {
    val row = update(results)
    row.setLong(fields - 1, weight)
    row
  }

  /** The next result of the run, of which only the row of the run's relation is written; null after
    * the last one.
    */
  def nextOfRun(): UnsafeRow =
    if (turns == 0) null
    else {
      turns -= 1
      at += run.width
      if (inlinedOnly) {
        val records = run.records
        val addresses = turning.addresses
        val places = turning.places
        var i = 0
        while (i < addresses.length) {
          Platform.putLong(buffer, addresses(i), records(at + 1 + places(i)))
          i += 1
        }
      } else if (turning != null) {
        if (turning.isInlined) turning.pointTo(run.records, at + 1)
        else turning.pointTo(run.row(run.size - 1 - turns))
        writeFixed(turning)
        if (turning.hasVariable) writeVariable(1L << run.relation)
      }
      row
    }

  /** As `update`, for rows without inlined words. */
  def update(rows: Array[Int], changed: Long): UnsafeRow = update(rows, changed, null: WordPointers)

  /** Writes the columns of changed relations.
    *
    * @param rows row id per relation
    * @param changed relations whose row may differ from the one of the update before; all of them
    *   the first time
    * @param places positions of the words inlined with the rows; null if there are none
    */
  private def update(rows: Array[Int], changed: Long, places: WordPointers): UnsafeRow = {
    var s = 0
    while (s < sources.length) {
      val source = sources(s)
      if ((changed >>> source.relation & 1L) != 0L) {
        if (source.isInlined) source.pointTo(places.pages(source.relation), places.starts(source.relation))
        else source.pointTo(rows(source.relation))
        writeFixed(source)
      }
      s += 1
    }
    if (places != null) writeKeys(changed, places)
    if ((changed & variableRelations) != 0L) writeVariable(changed)
    row
  }

  /** As `update`, with sums and a weight: `element` has the weight, then the sums. No words are
    * inlined with the rows.
    */
  def update(rows: Array[Int], changed: Long, element: Array[Long]): UnsafeRow = {
    var i = 1
    while (i < numbers) {
      setLong(i - 1, element(i))
      i += 1
    }
    val row = update(rows, changed)
    row.setLong(fields - 1, element(0))
    row
  }

  /** The number of the key from which a column is read, as results number them: behind the
    * relations. None if it is read from a row.
    */
  private def keyPlace(column: ColumnRef): Option[Int] =
    place(column.relation, column.ordinal).map(_._1).filter(_ >= spec.relations.size)

  /** Writes one of the numbers that follow the columns. */
  private def setLong(number: Int, value: Long): Unit =
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + 8L * (nullWords + spec.output.size + number), value)

  /** Copies the columns of a row that have a word each. NULL bits are written if this row or the
    * one before it has a NULL: else those in the buffer are 0 already.
    */
  private def writeFixed(source: Source): Unit = {
    val words = source.page
    val from = source.from
    val offsets = source.offsets
    var i = 0
    while (i < offsets.length) {
      Platform.putLong(buffer, source.addresses(i), words(from + offsets(i)))
      i += 1
    }
    val nulls = source.anyNull
    if (nulls || source.wroteNulls) {
      i = 0
      while (i < source.ordinals.length) {
        setNull(source.columns(i), nulls && source.isNull(source.ordinals(i)))
        i += 1
      }
      source.wroteNulls = nulls
    }
  }

  /** Copies the key that is inlined with a row into all columns that are read from it, where the
    * row may have changed.
    */
  private def writeKeys(changed: Long, places: WordPointers): Unit = {
    val base = Platform.BYTE_ARRAY_OFFSET + 8L * nullWords
    var k = 0
    while (k < keys.length) {
      val key = keys(k)
      if ((changed >>> key.place & 1L) != 0L) {
        val word = places.pages(key.place)(places.starts(key.place))
        var i = 0
        while (i < key.columns.length) {
          Platform.putLong(buffer, base + 8L * key.columns(i), word)
          i += 1
        }
      }
      k += 1
    }
  }

  /** Copies the data of variable-length columns, in their order: of changed relations, and behind
    * data that has changed its size, since it moves.
    */
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

  /** Makes the buffer hold so many bytes from `at` on; its content is kept. */
  private def reserve(at: Int, bytes: Int): Unit =
    if (buffer.length - at < bytes)
      buffer = java.util.Arrays.copyOf(
        buffer,
        math.max(math.addExact(at, bytes), math.min(2L * buffer.length, Int.MaxValue - 15L).toInt)
      )

  /** Sets or clears the NULL bit of an output column. */
  private def setNull(column: Int, isNull: Boolean): Unit = {
    val at = Platform.BYTE_ARRAY_OFFSET + 8L * (column >> 6)
    val word = Platform.getLong(buffer, at)
    val bit = 1L << (column & 63)
    Platform.putLong(buffer, at, if (isNull) word | bit else word & ~bit)
  }
}

private[exec] object OutputRow {

  /** The output columns that are read from a key, which has no NULL. */
  final class Key(val place: Int, val columns: Array[Int])

  /** The current row of one relation, and the targets of its fixed-width columns: columns of the
    * output, and addresses in its row.
    */
  final class Source(
      val relation: Int,
      arena: TupleArena,
      words: InlinedWords,
      nullWords: Int,
      val ordinals: Array[Int],
      val places: Array[Int],
      val columns: Array[Int],
      val addresses: Array[Long],
      val hasVariable: Boolean
  ) {
    var page: Array[Long] = null
    var start = 0 // of the row
    var wroteNulls = false

    // column i of the fixed ones is at page(from + offsets(i))
    var from = 0
    var offsets: Array[Int] = ordinals

    /** Whether the projected columns of a row are inlined with it, without a NULL. */
    def isInlined: Boolean = words != null && !words.anyNull

    /** Points to the stored row with this id in the arena, not to words inlined with it. */
    def pointTo(row: Int): Unit = {
      page = arena.page(row)
      start = arena.start(row)
      from = start + nullWords
      offsets = ordinals
    }

    /** Points to the words inlined with the row: in `inlined` from position `at` on. */
    def pointTo(inlined: Array[Long], at: Int): Unit = {
      page = inlined
      from = at
      offsets = places
    }

    /** The word of a column in the row; the source must point to the row. */
    def word(ordinal: Int): Long = page(start + nullWords + ordinal)

    /** Whether a column of the row is NULL; the source must point to the row. */
    def isNull(ordinal: Int): Boolean = (page(start + (ordinal >> 6)) >>> (ordinal & 63) & 1L) != 0L

    /** Whether the row has any NULL; a row of which only inlined words are known has none. */
    def anyNull: Boolean = !isInlined && {
      var i = 0
      while (i < nullWords) {
        if (page(start + i) != 0L) return true
        i += 1
      }
      false
    }
  }

  /** A variable-length column: its source, and the current position of its data. `from` is −1 if it
    * is NULL.
    */
  final class Variable(val source: Source, val ordinal: Int, val column: Int, val wideDecimal: Boolean) {
    var from: Long = -1L
    var bytes = 0
    var at = -1
  }
}
