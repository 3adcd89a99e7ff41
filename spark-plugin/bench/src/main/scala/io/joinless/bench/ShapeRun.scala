package io.joinless.bench

import io.joinless.engine.enumerate.{Results, Run}
import io.joinless.engine.update.{ChangeBatch, DeltaEnumeration, PrefetchedRows}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef, ViewTree}

/** The engine on a [[Shape]]. Every result row is visited, and each of its values read: `check` is
  * the sum over all of them, each times a factor of its relation.
  */
final class ShapeRun(shape: Shape) {
  val tree = new ViewTree(
    BlockDef(
      shape.inputs.map(columns => InputDef(columns, columns + 1, shape.deletes)),
      IndexedSeq.fill(shape.attributes)(AttributeDef(nullSafe = false)),
      shape.relations.map(r => RelationDef(r.input, r.keys, r.projected)),
      shape.tree
    )
  )
  private[this] val relations = shape.relations.indices
  private[this] val arenas = relations.map(r => tree.arena(shape.relations(r).input)).toArray
  private[this] val words = Array.ofDim[Long](shape.inputs.max + 1)
  private[this] val run = new Run

  var results, check = 0L

  // per relation, and behind those per other pointer to projected words: the offsets of the values in
  // its row, or in the words behind that pointer; the factor of each; and their current sum
  private[this] val projected = for (r <- relations; f <- shape.relations(r).projected) yield {
    val (pointer, offset) = tree.location(r, f).getOrElse((r, f + 1))
    (pointer, offset, 1000003L * (r + 1))
  }
  private[this] val offsets =
    Array.tabulate(ShapeRun.MaxPointers)(p => projected.filter(_._1 == p).map(_._2).distinct.toArray)
  private[this] val factors = Array.tabulate(ShapeRun.MaxPointers)(p =>
    // a key's word counts for several relations
    projected.collect { case (`p`, offset, factor) if offset == offsets(p)(0) => factor }.sum
  )
  private[this] val sums = new Array[Long](ShapeRun.MaxPointers)
  private[this] var total = 0L // of all sums
  // the relation of the previous run (bit), whose sum must be recomputed
  private[this] var runBefore = 0L
  private[this] val read = projected.foldLeft(0L)((bits, s) => bits | 1L << s._1)
  private[this] val ofRows = relations.filter(r => shape.relations(r).projected.exists(tree.location(r, _).isEmpty))
    .foldLeft(0L)(_ | 1L << _) // the relations whose rows are read, not their inlined words

  private[this] val delta = if (shape.deletes) null else new DeltaEnumeration(tree, IndexedSeq.empty)
  private[this] val changes = if (shape.deletes) new ChangeBatch(tree, IndexedSeq.empty) else null

  private[this] val roles = shape.inputs.indices.map(shape.roles).toArray
  private[this] val group = new PrefetchedRows(tree)

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

  private def visit(from: Results): Unit = {
    var check, results = 0L
    while (from.next(run)) {
      val ofRun = run.relation
      var left = (from.changed | runBefore) & read & ~(1L << ofRun)
      runBefore = 1L << ofRun
      while (left != 0L) {
        val p = java.lang.Long.numberOfTrailingZeros(left)
        left &= left - 1
        val sum = factors(p) *
          (if ((ofRows >>> p & 1L) != 0L) sumOfRow(p, from.rows(p))
           else this.sum(p, from.pointers.pages(p), from.pointers.starts(p)))
        total += sum - sums(p)
        sums(p) = sum
      }
      check += from.weight * (run.size * (total - sums(ofRun)) + factors(ofRun) * inner(ofRun))
      results += run.size
    }
    this.check += check
    this.results += results
  }

  /** The sum over the rows of the run. */
  private def inner(relation: Int): Long = {
    var total = 0L
    if ((ofRows >>> relation & 1L) != 0L) {
      var i = 0
      while (i < run.size) { total += sumOfRow(relation, run.row(i)); i += 1 }
    } else {
      val records = run.records
      val width = run.width
      val end = run.from + run.size * width
      var word = 1
      while (word < width) {
        var at = run.from + word
        while (at < end) { total += records(at); at += width }
        word += 1
      }
    }
    total
  }

  private def sumOfRow(relation: Int, row: Int): Long =
    sum(relation, arenas(relation).page(row), arenas(relation).start(row))

  private def sum(pointer: Int, page: Array[Long], start: Int): Long = {
    val at = offsets(pointer)
    var total = 0L
    var i = 0
    while (i < at.length) { total += page(start + at(i)); i += 1 }
    total
  }
}

private object ShapeRun {
  final val MaxPointers = 64
}
