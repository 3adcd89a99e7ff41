package io.joinless.bench

import io.joinless.engine.enumerate.{Results, Run}
import io.joinless.engine.update.{ChangeBatch, DeltaEnumeration, RowGroup}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef, ViewTree}

/** The engine on a [[Shape]]. Every result row is visited, and each of its values read: `check` is the sum over all of them, each times a
  * number of its column.
  */
final class ShapeRun(shape: Shape) {
  val tree = new ViewTree(
    BlockDef(
      shape.inputs.map(columns => InputDef(columns, columns + 1, shape.deletes)),
      IndexedSeq.fill(shape.attributes)(AttributeDef(nullSafe = false)),
      shape.relations.map(r => RelationDef(r.input, r.keys, r.shown)),
      shape.tree
    )
  )
  private[this] val relations = shape.relations.indices
  private[this] val arenas = relations.map(r => tree.arena(shape.relations(r).input)).toArray
  private[this] val words = Array.ofDim[Long](shape.inputs.max + 1)
  private[this] val run = new Run

  var results, check = 0L

  // per place, and behind those per relation whose rows are read: where values lie, the number of each, and their sum now
  private[this] val shown = for (r <- relations; f <- shape.relations(r).shown) yield {
    val factor = 1000003L * (r + 1) + 7919L * (f + 1)
    tree.place(r, f).fold((ShapeRun.Rows + r, f + 1, factor)) { case (place, offset) => (place, offset, factor) }
  }
  private[this] val readers = Array.tabulate(2 * ShapeRun.Rows)(p => shown.filter(_._1 == p))
  private[this] val offsets = readers.map(_.map(_._2).toArray)
  private[this] val factors = readers.map(_.map(_._3).toArray)
  private[this] val sums = new Array[Long](2 * ShapeRun.Rows)
  private[this] val read = shown.map(_._1).distinct.toArray

  private[this] val delta = if (shape.deletes) null else new DeltaEnumeration(tree, IndexedSeq.empty)
  private[this] val changes = if (shape.deletes) new ChangeBatch(tree, IndexedSeq.empty) else null

  private[this] val roles = shape.inputs.indices.map(shape.roles).toArray
  private[this] val group = new RowGroup(tree)

  def apply(batch: IndexedSeq[ShapeChange]): Unit = {
    var c = 0
    while (c < batch.size) {
      val change = batch(c)
      val width = change.row.length + 1
      System.arraycopy(change.row, 0, words, 1, change.row.length)
      if (changes != null) changes.add(change.input, roles(change.input), change.weight.toLong, words, width)
      else {
        group.add(roles(change.input), tree.arena(change.input).append(words, 0, width))
        if (group.isFull) insert()
      }
      c += 1
    }
    if (changes != null) visit(changes) else insert()
  }

  private def insert(): Unit = group.drain { (relation, row) =>
    delta.insert(relation, row)
    visit(delta)
  }

  private def visit(from: Results): Unit = while (from.next(run)) {
    var others = 0L
    var i = 0
    while (i < read.length) {
      val p = read(i)
      if (p >= ShapeRun.Rows) {
        val r = p - ShapeRun.Rows
        if ((from.changed >>> r & 1L) != 0L) {
          sums(p) = sum(p, arenas(r).page(from.rows(r)), arenas(r).start(from.rows(r)))
        }
      } else if ((from.changed >>> p & 1L) != 0L) sums(p) = sum(p, from.places.pages(p), from.places.starts(p))
      if (p != run.relation && p != ShapeRun.Rows + run.relation) others += sums(p)
      i += 1
    }
    check += from.weight * (run.size * others + inner())
    results += run.size
  }

  /** The sum over the rows of the run. */
  private def inner(): Long = {
    val records = run.records
    val width = run.width
    val end = run.from + run.size * width
    var total = 0L
    if (offsets(run.relation).length > 0) {
      var at = run.from + 1
      while (at < end) { total += sum(run.relation, records, at); at += width }
    }
    if (offsets(ShapeRun.Rows + run.relation).length > 0) {
      val arena = arenas(run.relation)
      var i = 0
      while (i < run.size) {
        total += sum(ShapeRun.Rows + run.relation, arena.page(run.row(i)), arena.start(run.row(i)))
        i += 1
      }
    }
    total
  }

  private def sum(place: Int, page: Array[Long], start: Int): Long = {
    val at = offsets(place)
    val by = factors(place)
    var total = 0L
    var i = 0
    while (i < at.length) { total += by(i) * page(start + at(i)); i += 1 }
    total
  }
}

private object ShapeRun {
  final val Rows = 64 // places are below
}
