package io.joinless.bench

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.reduce.{ReducedBatch, ReducedJoin}
import io.joinless.engine.tuples.RowProjection

/** The engine on a [[GroupedQuery]]: rows are inserted into sums per key, and their changes are
  * read per result of the top.
  *
  * Each group that a batch changed is visited: its old row is deleted, its new one inserted. If one
  * component projects exactly the requested columns, it emits each group once; else a consumer of
  * ours adds up the emitted differences per group.
  */
final class GroupedRun(query: GroupedQuery) extends Emitted {
  private[this] val join = new ReducedJoin(query.definition)
  private[this] val batch = new ReducedBatch(join, query.differing.map(new GroupedRun.Different(join, _)).toIndexedSeq)
  private[this] val layouts = query.layouts.map(_.columns.toArray).toArray
  private[this] val rowWords = layouts.map(columns => RowProjection.fixedWords(columns.length))
  private[this] val words = new Array[Long](rowWords.max)

  private[this] val components = query.keys.map(_.component).toArray
  private[this] val keyColumns = query.keys.map(_.column).toArray
  private[this] val arenas = components.map(join.projectedRows)
  private[this] val starts =
    components.map(c =>
      RowProjection.fixedWords(query.reduction.components(c).projected.size) -
        query.reduction.components(c).projected.size
    )
  private[this] val key = new Array[Long](components.length)
  private[this] val row = new Array[Long](query.resultColumns)

  private[this] val before, after = new Array[Long](query.ring.width)

  // sums of a consumer per group: results or different values
  private[this] val groups = new Groups(query.groupColumns, query.ring.width)
  private[this] val values = new Values(key.length) // that are emitted more than once
  private[this] val one = Array(1L)
  private[this] val emitsGroups = query.projectsRequested &&
    (query.aggregate == GroupedQuery.Nothing || query.aggregate != GroupedQuery.DistinctValues && query.isOneComponent)

  var plus, minus, check = 0L

  override def stateRows: Long = join.rows
  override def stateBytes: Long = join.bytes
  override def figures: Seq[(String, Long)] = Seq("steps" -> join.counters.steps, "results" -> join.counters.results)

  def apply(changes: IndexedSeq[RowBatch]): Unit = {
    var layout = 0
    while (layout < layouts.length) { feed(layout, changes(query.layouts(layout).stream)); layout += 1 }
    if (emitsGroups) while (batch.next()) {
      readKey(row)
      if (query.aggregate == GroupedQuery.Nothing) visit(inserted = batch.weight > 0) else visitGroup()
    }
    else {
      while (batch.next()) {
        readKey(key)
        if (query.aggregate != GroupedQuery.DistinctValues || query.projectsRequested) groups.add(key, batch.element)
        else {
          one(0) = values.add(key, batch.weight)
          if (one(0) != 0L) groups.add(key, one)
        }
      }
      visitChanged()
    }
  }

  private def visitGroup(): Unit = {
    batch.readBefore(before)
    System.arraycopy(before, 0, after, 0, after.length)
    query.ring.add(after, 0, batch.element, 0)
    visit(before, after)
  }

  private def readKey(into: Array[Long]): Unit = {
    var i = 0
    while (i < key.length) {
      val id = batch.rows(components(i))
      into(i) = arenas(i).page(id)(arenas(i).start(id) + starts(i) + keyColumns(i))
      i += 1
    }
  }

  private def visitChanged(): Unit = groups.foreachTouched { (page, at, before, after) =>
    System.arraycopy(page, at, row, 0, query.groupColumns)
    if (query.aggregate == GroupedQuery.Nothing) {
      if (before(0) > 0 != after(0) > 0) visit(inserted = after(0) > 0)
    } else if (!java.util.Arrays.equals(before, after)) visit(before, after)
  }

  /** Visits the old row of a group whose columns are in `row`, and its new one. */
  private def visit(before: Array[Long], after: Array[Long]): Unit = {
    if (before(0) > 0) { put(before); visit(inserted = false) }
    if (after(0) > 0) { put(after); visit(inserted = true) }
  }

  private def feed(layout: Int, rows: RowBatch): Unit = {
    val columns = layouts(layout)
    val first = rowWords(layout) - columns.length
    var i = 0
    while (i < rows.size) {
      val start = i * rows.columns
      val roles = query.roles(layout, rows.values, start)
      if (roles != 0L) {
        words(0) = 0L
        var c = 0
        while (c < columns.length) {
          val value = rows.values(start + columns(c))
          val isNull = value == RowBatch.Null
          if (isNull) words(0) |= 1L << c
          words(first + c) = if (isNull) 0L else value
          c += 1
        }
        batch.add(layout, roles, rows.weights(i).toLong, words, rowWords(layout))
      }
      i += 1
    }
  }

  /** Writes a group's values behind its key; of a sum its low word. */
  private def put(values: Array[Long]): Unit = {
    var i = query.groupColumns
    while (i < row.length) { row(i) = values(i - query.groupColumns); i += 1 }
  }

  private def visit(inserted: Boolean): Unit = {
    var sum = (row(0) + 7) * (row(row.length - 1) + 11)
    var i = 0
    while (i < row.length) { sum += (2 * i + 3) * row(i); i += 1 }
    if (inserted) { plus += 1; check += sum }
    else { minus += 1; check -= sum }
  }
}

private object GroupedRun {

  /** A residual: two projected columns differ. */
  final class Different(join: ReducedJoin, locations: (GroupedQuery.Location, GroupedQuery.Location)) extends Residual {
    private[this] val (a, b) = locations

    override val relations: IndexedSeq[Int] = IndexedSeq(a.component, b.component).distinct

    override def accept(rows: Array[Int]): Boolean = value(a, rows) != value(b, rows)

    private def value(location: GroupedQuery.Location, rows: Array[Int]): Long = {
      val arena = join.projectedRows(location.component)
      val row = rows(location.component)
      arena.page(row)(arena.start(row) + GroupedRun.NullWords + location.column)
    }
  }

  final val NullWords = 1
}
