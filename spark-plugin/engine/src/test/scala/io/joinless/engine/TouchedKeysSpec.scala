package io.joinless.engine

import io.joinless.engine.oracle.{Case, CaseChange, Generators}
import io.joinless.engine.update.{ChangeBatch, DeleteOfAbsentRow, Reversal}
import io.joinless.engine.view.{TouchedKeys, ViewTree}
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable

/** The touched keys that a tree reports equal the differences of its views before and after. */
class TouchedKeysSpec extends AnyFunSuite {

  test("oracle_: random batches, and the same rolled back") {
    var touches, shifts = 0
    for (seed <- 0L until 400L) {
      val run = new Run(seed, Generators.draw(seed))
      for (changes <- run.query.batches) run.play(changes, rollBack = seed % 3 == 0)
      touches += run.touched.touches
      shifts += run.touched.shifts
    }
    info(s"$touches touches, $shifts of them without another number of alive tuples")
    assert(touches > 10000 && shifts > 100)
  }

  test("oracle_: change by change, no key is reported in which nothing differs") {
    for (seed <- 0L until 200L) {
      val run = new Run(seed, Generators.draw(seed))
      for (change <- run.query.batches.flatten) run.play(IndexedSeq(change), rollBack = false, exact = true)
    }
  }

  /** (node, key) → the alive tuples with their weights; keys without any are omitted. */
  private type Views = Map[(Int, Int), Map[Int, Long]]

  final private class Run(seed: Long, val query: Case) {
    val touched = new Touched
    private[this] val tree = new ViewTree(query.block, touched)
    private[this] val batch = new ChangeBatch(tree, IndexedSeq.empty, query.negatives)

    def play(changes: IndexedSeq[CaseChange], rollBack: Boolean, exact: Boolean = false): Unit = {
      send(changes)
      compare(exact) {
        try {
          batch.prepare()
          val reversal = new Reversal(tree)
          batch.note(reversal)
          while (batch.next()) {}
          if (rollBack) { reversal.undo(); send(changes); batch.drain() }
        } catch { case _: DeleteOfAbsentRow => }
      }
    }

    private def send(changes: IndexedSeq[CaseChange]): Unit =
      for (change <- changes) {
        val words = query.inputs(change.input).words(change.row)
        batch.add(change.input, change.roles, change.weight, words, words.length)
      }

    private def compare(exact: Boolean)(update: => Unit): Unit = {
      val before = views
      touched.clear()
      update
      val after = views
      for (key <- before.keySet ++ after.keySet ++ touched.keys) {
        val (was, is) = (before.getOrElse(key, Map.empty), after.getOrElse(key, Map.empty))
        touched.of(key) match {
          case Some((first, last)) =>
            assert(first == was.size && last == is.size, s"seed $seed, key $key: $first to $last")
            if (exact) assert(was != is, s"seed $seed, key $key is reported and the same")
          case None => assert(was == is, s"seed $seed, key $key is not reported")
        }
      }
    }

    private def views: Views =
      (for {
        node <- tree.nodes.iterator
        key <- (0 until (if (node.isRoot) 1 else node.up.limit)).iterator if !node.vs.isEmpty(key)
      } yield {
        val slots = (node.vs.count(key) - 1 to 0 by -1).scanLeft(node.vs.first(key))(node.vs.next).init.iterator
        (node.id, key) -> slots.map(node.vs.tuple).map(t => t -> node.weight(t)).toMap
      }).toMap
  }

  /** Keeps, per key, the number of alive tuples before its first touch and after its last. */
  final private class Touched extends TouchedKeys {
    private[this] val ends = mutable.Map.empty[(Int, Int), (Int, Int)]
    var touches, shifts = 0

    def keys: collection.Set[(Int, Int)] = ends.keySet
    def of(key: (Int, Int)): Option[(Int, Int)] = ends.get(key)
    def clear(): Unit = ends.clear()

    override def touched(node: Int, key: Int, before: Int, after: Int): Unit = {
      touches += 1
      if (before == after) shifts += 1
      val first = ends.get((node, key)).fold(before) { case (first, last) =>
        assert(last == before, s"key $key of node $node: $last alive tuples, then $before")
        first
      }
      ends((node, key)) = (first, after)
    }
  }
}
