package io.joinless.engine.sample

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.algebra.WideCounts
import io.joinless.engine.enumerate.Residual
import io.joinless.engine.oracle.{Case, CaseChange, NaiveJoin}
import io.joinless.engine.update.{Restoration, Reversal}
import io.joinless.engine.view.{AggregatesDef, ViewTree}

/** A tree and the sample that is kept of its results, for a case whose inputs are retractable. A
  * copy of a result is its rows of the stock, packed, and the number of the copy of each.
  *
  * @param isGrouped per group of results, which are those with the attributes of the tree's root
  */
final class SampledTree(query: Case, capacity: Int, isGrouped: Boolean = false) extends KeptCopies {
  import SampledTree._

  private[this] val relations = query.relations.size
  private[this] var tree: ViewTree = _
  private[this] var sample: KeptSample = _
  private[this] var batch: SampledBatch = _
  private[this] val residuals: IndexedSeq[Residual] = query.residuals.map { condition =>
    new Residual {
      def relations: IndexedSeq[Int] = condition.relations
      def accept(rows: Array[Int]): Boolean = condition.accept(r => stockRow(r, rows(r)))
    }
  }
  start()

  private def start(): Unit = {
    tree = new ViewTree(query.block, Some(AggregatesDef(WideCounts, IndexedSeq.fill(relations)(None))))
    sample = new KeptSample(capacity, tree, isGrouped)
    batch = new SampledBatch(tree, residuals, sample, query.negatives)
  }

  override def play(changes: Iterable[CaseChange], seed: Long): Seq[(Copy, Long)] = {
    send(changes)
    batch.seed = seed
    emitted()
  }

  private def send(changes: Iterable[CaseChange]): Unit = changes.foreach { change =>
    val words = query.inputs(change.input).words(change.row)
    batch.add(change.input, change.roles, change.weight, words, words.length)
  }

  private def emitted(): Seq[(Copy, Long)] = {
    val found = mutable.ArrayBuffer.empty[(Copy, Long)]
    while (batch.next()) found += copyIn(batch.slot) -> batch.weight
    found.toSeq
  }

  def total: BigInt = SampledBatch.total(tree)

  override def copies: Map[Copy, Double] = {
    val found = mutable.Map.empty[Copy, Double]
    sample.foreach(slot => found(copyIn(slot)) = sample.key(slot))
    found.toMap
  }

  /** Plays a batch and rolls it back. */
  def rehearse(changes: Iterable[CaseChange], seed: Long): Unit = {
    send(changes)
    batch.prepare()
    val reversal = new Reversal(tree)
    batch.note(reversal)
    val journal = new SampleJournal(sample, tree)
    batch.journal = journal
    batch.seed = seed
    batch.drain()
    reversal.undo()
    journal.undo()
  }

  /** Replaces the tree by one with the same rows, restored in any order, and the same sample. */
  def rebuild(multiplicity: Array[Array[Long]], random: Random): Unit = {
    val kept = mutable.ArrayBuffer.empty[(Int, Double, Copy)]
    sample.foreach(slot => kept += ((slot, sample.key(slot), copyIn(slot))))
    start()
    val restoration = new Restoration(tree)
    val rows = for (r <- 0 until relations; row <- multiplicity(r).indices if multiplicity(r)(row) != 0) yield (r, row)
    for ((r, row) <- random.shuffle(rows)) {
      val input = query.relations(r).input
      val words = query.inputs(input).words(row)
      restoration.set(1L << r, restoration.find(input, words, words.length), multiplicity(r)(row))
    }
    restoration.finish()
    for ((slot, key, Copy(rows, copies)) <- random.shuffle(kept)) {
      val ids = rows.zipWithIndex.map { case (row, r) =>
        val input = query.relations(r).input
        val words = query.inputs(input).words(row)
        tree.find(input, words, words.length)
      }
      sample.restore(slot, key, ids.toArray, copies.toArray)
    }
    sample.restored()
  }

  private def copyIn(slot: Int): Copy = Copy(
    (0 until relations).map(r => stockRow(r, sample.row(slot, r))),
    (0 until relations).map(sample.copy(slot, _))
  )

  private def stockRow(relation: Int, row: Int): Int = {
    val input = query.relations(relation).input
    val arena = tree.arena(input)
    query.inputs(input).rowOf(arena.page(row), arena.start(row), arena.words(row))
  }
}

object SampledTree {

  /** A copy of a result: by relation, the row and which of its copies. */
  final case class Copy(rows: IndexedSeq[Int], copies: IndexedSeq[Long])

  /** All copies of the results for these multiplicities. */
  def all(results: collection.Map[Long, Long], multiplicity: Array[Array[Long]]): IndexedSeq[Copy] =
    results.keys.toIndexedSeq.sorted.flatMap { key =>
      val rows = NaiveJoin.unpack(key, multiplicity.length).toIndexedSeq
      val numbers = rows.zipWithIndex.map { case (row, r) => 0L until multiplicity(r)(row) }
      numbers.foldRight(Seq(IndexedSeq.empty[Long])) { (of, rest) => for (n <- of; r <- rest) yield n +: r }
        .map(Copy(rows, _))
    }
}
