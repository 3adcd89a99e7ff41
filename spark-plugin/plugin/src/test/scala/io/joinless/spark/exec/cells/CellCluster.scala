package io.joinless.spark.exec.cells

import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.RolesAndCells
import io.joinless.spark.exec.figures.TaskMetrics
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.cells.{CellState, Undo}
import io.joinless.spark.state.log.{BlocksInMemory, ChangeLogReader}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.Platform

/** All cells of a block with changelogs, batch by batch, without Spark running. A batch is done by
  * all cells or by none.
  */
final private class CellCluster(spec: BlockSpec, negatives: Boolean = false) {
  private val kind = CellKinds.of(spec)
  val stores: IndexedSeq[BlocksInMemory] = IndexedSeq.fill(spec.cells)(new BlocksInMemory)
  private val trees = Array.fill(spec.cells)(own(kind.empty(spec)))
  private val types = spec.output.map(c => spec.inputs(spec.relations(c.relation).input).columns(c.ordinal).dataType)
  private val copyValues = columns(types)
  private val stored = spec.inputs.map(input => columns(input.columns.map(_.dataType)))

  /** The watermark at the end of batches. */
  var watermark: Long = Long.MinValue

  private var batches = 0L

  /** Figures of the last batch, added up. */
  var metrics: Seq[TaskMetrics] = Nil

  def rowsStored: Long = trees.map(_.tree.rows).sum
  def steps: Long = trees.map(_.tree.counters.steps).sum
  def bytes: Long = trees.map(_.bytes).sum
  def entries: Long = trees.map(_.extent.entries).sum
  def live: Long = trees.map(_.extent.live).sum
  def negative: Long = trees.map(_.negativeRows).sum
  def logRows: Long = trees.map(_.logRows).sum

  /** The number of results of each cell, where it is known. */
  def results: Seq[BigInt] = trees.toSeq.flatMap(_.results)

  private def reader(cell: Int, keep: ChangeLogReader.Keep = ChangeLogReader.All) =
    new ChangeLogReader(
      spec,
      cell,
      (block, what) => new IllegalStateException(s"cell $cell, block $block: $what"),
      keep
    )

  private def rebuilt(
      c: Int,
      reader: ChangeLogReader,
      shuffle: Seq[(UnsafeRow, UnsafeRow)] => Seq[(UnsafeRow, UnsafeRow)] = identity
  ): NettedState = own(kind.rebuild(new LogReplay(spec, reader, shuffle(stores(c).blocks).iterator, _ => ())))

  /** As after a restart, reading blocks in any order. */
  def rebuild(shuffle: Seq[(UnsafeRow, UnsafeRow)] => Seq[(UnsafeRow, UnsafeRow)] = identity): Unit =
    for (c <- 0 until spec.cells) {
      val before = trees(c)
      trees(c) = rebuilt(c, reader(c), shuffle)
      checkSame(before, trees(c))
    }

  /** Checks a reader of only some roles of some rows, chosen by the rows' bytes: it finds those
    * with their counts.
    */
  def checkPart(salt: Int): Unit = for (c <- 0 until spec.cells) {
    val part = rebuilt(c, reader(c, CellCluster.part(salt)))
    for (r <- spec.relations.indices if spec.inputs(spec.relations(r).input).retractable) {
      val wanted = counts(trees(c).tree, r).filter { case (row, _) => (CellCluster.roles(salt, row) >>> r & 1L) != 0L }
      assert(counts(part.tree, r) == wanted, s"cell $c, relation $r, salt $salt")
    }
  }

  private def counts(tree: ViewTree, relation: Int): Map[Seq[Long], Long] = {
    val arena = tree.arena(spec.relations(relation).input)
    val rows = (0 until arena.limit).filter(tree.multiplicity(relation, _) != 0L)
    rows.map { row =>
      (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i)) -> tree.multiplicity(relation, row)
    }.toMap
  }

  private def checkSame(before: NettedState, after: NettedState): Unit = {
    val (was, now) = (before.extent, after.extent)
    assert(was.entries == now.entries && was.live == now.live && was.negatives == now.negatives)
    assert(after.tree.rows == before.tree.rows)
    if (now.entries > 0) {
      assert(was.oldest == now.oldest && before.log.nextSequence == after.log.nextSequence)
      // merging may leave room for blocks that were out of reach
      assert(after.log.tail.blocks.startsWith(before.log.tail.blocks))
    }
  }

  private def own(state: CellState): NettedState = state.asInstanceOf[NettedState]

  private def columns(types: Seq[DataType]) =
    UnsafeProjection.create(types.zipWithIndex.map { case (t, i) => BoundReference(i, t, true) })

  private def exchange(scans: Seq[(Seq[Int], Seq[UnsafeRow])]): Seq[UnsafeRow] = scans.flatMap { case (roles, rows) =>
    new RolesAndCells(spec, roles.toArray, rows.iterator, stored(spec.relations(roles.head).input), (_, _) => ())
      .map(_.asInstanceOf[UnsafeRow].copy()).toList
  }

  private def task(
      c: Int,
      exchanged: Seq[UnsafeRow],
      commit: (CellState, Undo) => Unit,
      figures: TaskMetrics
  ): CellTask = {
    val context =
      CellContext(
        spec,
        Nil,
        c,
        stores(c),
        reader(c),
        _ => (),
        commit,
        figures,
        weighted = true,
        negatives,
        watermark,
        batches
      )
    kind.task(context, trees(c), exchanged.iterator.filter(_.getInt(0) == c))
  }

  /** Runs a batch, reading at most `most` rows from each cell, and rolls it back: the cells are as
    * the stores have them.
    */
  def rehearse(scans: Seq[(Seq[Int], Seq[UnsafeRow])], most: Int): Unit = {
    val exchanged = exchange(scans)
    stores.foreach(_.begin())
    for (c <- 0 until spec.cells) {
      var undo: Option[Undo] = None
      val played = task(c, exchanged, (_, back) => undo = Some(back), new TaskMetrics)
      played.take(most).foreach(_ => ())
      trees(c) = own(undo.fold(played.rollBack().get)(_.apply()))
    }
    stores.foreach(_.begin())
    for (c <- 0 until spec.cells)
      checkSame(trees(c), rebuilt(c, reader(c)))
  }

  /** Scanned rows per scan in; per cell the result rows, each with its weight, out.
    *
    * @param failing each cell's task fails in the middle: after its first row, or its last
    */
  def batch(scans: Seq[(Seq[Int], Seq[UnsafeRow])], failing: Boolean = false): IndexedSeq[Seq[(UnsafeRow, Long)]] = {
    val exchanged = exchange(scans)
    val after = new Array[NettedState](spec.cells)
    stores.foreach(_.begin())
    try {
      val results = IndexedSeq.tabulate(spec.cells) { c =>
        val figures = new TaskMetrics
        metrics = (if (c == 0) Nil else metrics) :+ figures
        val played = task(c, exchanged, (state, _) => after(c) = own(state), figures)
        val drained = if (failing) played.take(1) else played
        drained.map(row => (copyValues(row).copy(), row.getLong(types.size))).toList
      }
      if (failing) throw new InterruptedException("failing on purpose")
      assert(!after.contains(null))
      stores.foreach(_.commit())
      after.copyToArray(trees)
      batches += 1
      results
    } catch {
      case e: Throwable =>
        // the trees are invalid: the next attempt starts from the stores
        for (c <- 0 until spec.cells) trees(c) = rebuilt(c, reader(c))
        throw e
    }
  }
}

private object CellCluster {

  /** For each row a pseudo-random set of roles; every fourth row has none. */
  def part(salt: Int): ChangeLogReader.Keep = (all, base, offset, bytes) =>
    all & roles(salt, (0 until bytes / 8).map(i => Platform.getLong(base, offset + 8L * i)))

  def roles(salt: Int, row: Seq[Long]): Long = {
    val random = new scala.util.Random((row, salt).hashCode)
    if (random.nextInt(4) == 0) 0L else random.nextLong()
  }
}
