package io.joinless.engine

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.algebra.Counts
import io.joinless.engine.enumerate.{FullAggregates, FullEnumeration}
import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.engine.tuples.{KeyField, ProjectedField, RowProjection}
import io.joinless.engine.update.{ChangeBatch, Restoration}
import io.joinless.engine.view.{AggregatesDef, AttributeDef, BlockDef, InputDef, ProjectedRows, RelationDef, ViewTree}

/** The block of [[OneStateSpec]], its edges, and what its batches added up to. The oracle keeps the
  * edges as a bag and follows them.
  */
final class Paths(deletes: Boolean, edges: mutable.Map[(Long, Long), Long] = mutable.Map.empty) {
  import Paths._

  private[this] val definition = block(deletes)
  private[this] val vertex = definition.tree.attributes.head

  val tree = new ViewTree(
    definition,
    Some(AggregatesDef(
      Counts,
      IndexedSeq.fill(3)(None),
      ProjectedRows.atRoot(definition.tree).map(r => r -> IndexedSeq(ProjectedField(vertex - r, variable = false))).toMap,
      RowProjection.fixedWords(1)
    ))
  )
  val batch = new ChangeBatch(tree, IndexedSeq.empty)
  private[this] val counts = mutable.Map.empty[Long, Long]
  private[this] var (rows, check) = (0L, 0L)

  /** Ten edges more; if edges are deleted, about as many less. */
  def draw(random: Random): Seq[((Long, Long), Long)] = {
    val inserted = Seq.fill(10)((random.nextInt(12).toLong, random.nextInt(12).toLong) -> 1L)
    val deleted = if (deletes) random.shuffle(edges.keys.toSeq).take(random.nextInt(14)).map(_ -> -1L) else Nil
    inserted ++ deleted
  }

  def send(changes: Seq[((Long, Long), Long)]): Unit =
    for (((a, b), weight) <- changes) batch.add(0, 7L, weight, Array(0L, a, b), 3)

  /** Applies a batch, and adds its changes up: those of the results, then those of the counts. */
  def play(changes: Seq[((Long, Long), Long)]): Unit = {
    for ((edge, weight) <- changes) edges.updateWith(edge)(n => Some(n.getOrElse(0L) + weight).filter(_ != 0L))
    send(changes)
    while (batch.next()) {
      rows += batch.weight
      check += batch.weight * hash(batch.rows)
    }
    while (batch.aggregates.next()) {
      val of = group(batch.aggregates.row)
      counts.updateWith(of)(n => Some(n.getOrElse(0L) + batch.aggregates.element(0)).filter(_ != 0L))
    }
    assert(Found(rows, check, counts.toMap) == expected)
  }

  def check(): Unit = assert(read() == expected)

  /** All results and all counts, as the tree has them now. */
  def read(): Found = {
    val (list, full) = (new FullEnumeration(tree, IndexedSeq.empty), new FullAggregates(tree))
    var (rows, check) = (0L, 0L)
    while (list.next()) {
      rows += list.weight
      check += list.weight * hash(list.rows)
    }
    Found(rows, check, Iterator.continually(full).takeWhile(_.next()).map(f => group(f.row) -> f.element(0)).toMap)
  }

  /** The same, from the edges. */
  def expected: Found = {
    val results = for {
      ((a, b), n) <- edges.toSeq; ((b2, c), m) <- edges.toSeq if b2 == b; ((c2, d), k) <- edges.toSeq if c2 == c
    } yield (IndexedSeq(a, b, c, d), n * m * k)
    Found(
      results.map(_._2).sum,
      results.map { case (vertices, weight) => weight * hash(vertices) }.sum,
      results.groupMapReduce(_._1(vertex))(_._2)(_ + _)
    )
  }

  /** Another tree with the same edges, restored in any order. */
  def rebuilt(): Paths = restoredTo(new Paths(deletes, edges))

  /** The same, with edges of its own. */
  def copied(): Paths = restoredTo(new Paths(deletes, edges.clone()))

  private def restoredTo(other: Paths): Paths = {
    val restoration = new Restoration(other.tree)
    for (((a, b), n) <- edges) {
      val words = Array(0L, a, b)
      if (deletes) restoration.set(7L, restoration.find(0, words, 3), n)
      else for (_ <- 1L to n) restoration.load(7L, other.tree.arena(0).append(words, 0, 3))
    }
    restoration.finish()
    other.resume(rows, check, counts)
    other.check()
    other
  }

  private def resume(rows: Long, check: Long, counts: collection.Map[Long, Long]): Unit = {
    this.rows = rows
    this.check = check
    this.counts ++= counts
  }

  private def group(row: Int): Long = tree.projectedRows.page(row)(tree.projectedRows.start(row) + 1)

  private def hash(rows: Array[Int]): Long = {
    val arena = tree.arena(0)
    def value(r: Int, column: Int) = arena.page(rows(r))(arena.start(rows(r)) + 1 + column)
    hash(value(0, 0) +: (0 until 3).map(value(_, 1)))
  }

  private def hash(vertices: IndexedSeq[Long]): Long = vertices.foldLeft(7L)((h, v) => h * 31 + v)
}

object Paths {

  /** The number of results, a check of their rows and weights, and the counts per vertex. */
  final case class Found(rows: Long, check: Long, counts: Map[Long, Long])

  private def word(column: Int) = KeyField(column, variable = false)

  /** The block over one input of edges. */
  private def block(deletes: Boolean): BlockDef = {
    val keys = IndexedSeq.tabulate(3)(r => IndexedSeq(r -> word(0), (r + 1) -> word(1)))
    val graph = Hypergraph.of((0 until 3).map(r => Seq(r, r + 1)): _*)
    BlockDef(
      IndexedSeq(InputDef(2, 3, retractable = deletes)),
      IndexedSeq.fill(4)(AttributeDef(nullSafe = false)),
      keys.map(RelationDef(0, _)),
      TreeSearch.best(graph).fold(core => sys.error(core.toString), identity)
    )
  }
}
