package io.joinless.engine

import scala.collection.mutable
import scala.collection.immutable.BitSet
import scala.util.Random

import io.joinless.engine.oracle.{Rows, Streams}
import io.joinless.engine.query.{Hypergraph, References, ShapesOfQueries}
import io.joinless.engine.update.ChangeBatch
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Primary and foreign keys: O(1) amortised steps per change in any order of rows, if references
  * hold at the end of each batch ([[References]]). Counted, never timed.
  */
class ForeignKeysSpec extends AnyFunSuite {
  import ForeignKeysSpec._

  private val sizes = Seq(2000, 8000, 32000)

  /** Title, Movie_Companies, Company_Name of the Join Order Benchmark. */
  private val titles = Schema(Hypergraph.of(Seq(0, 1), Seq(0), Seq(1)), IndexedSeq(None, Some(0), Some(1)))
  private val star =
    Schema(Hypergraph.of(Seq(0, 1, 2, 3), Seq(0), Seq(1), Seq(2), Seq(3)), None +: (0 to 3).map(Some(_)))
  private val snowflake = Schema(ShapesOfQueries.snowflake, None +: (0 to 4).map(Some(_)))

  private val schemas = Seq("titles, companies" -> titles, "star" -> star, "snowflake" -> snowflake)

  for ((name, schema) <- schemas) {
    test(s"$name: the tree relies on references") {
      val tree = new Streams(schema.graph, changelog = true).joinTree
      assert(References.of(tree, schema.unique).exists(_.nonEmpty))
      assert(References.of(tree, schema.unique.map(_ => Nil)) === None)
    }

    test(s"$name: valid batches, rows of each in any order") {
      val measured = sizes.map { size =>
        val play = new Play(schema, size)
        while (play.inserted < size) play.batch()
        play.batch(all = true)
        assert(play.stream.tree.isEmpty)
        play.stream.stepsPerChange
      }
      checkFlat(measured)
    }

    test(s"$name: loaded and removed in any order, dimensions late, too") {
      val measured = sizes.map { size =>
        val play = new Play(schema, size)
        val rows = Seq.fill(size / 2)(play.inserts()).flatten
        play.random.shuffle(rows).foreach(play.insert)
        play.random.shuffle(rows).foreach(play.delete)
        play.stream.drain()
        assert(play.stream.tree.isEmpty)
        play.stream.stepsPerChange
      }
      checkFlat(measured)
    }
  }

  test("a dimension whose rows are replaced under their keys costs no steps") {
    for (facts <- Seq(100, 10000)) {
      // companies have a name
      val stream = new Streams(Hypergraph.of(Seq(0, 1), Seq(0), Seq(1, 2)), changelog = true)
      val batch = new ChangeBatch(stream.tree, IndexedSeq.empty)
      def play(changes: (Int, Seq[Long], Long)*): Long = {
        val before = stream.steps
        for ((r, values, weight) <- changes) {
          val words = Rows.encode(values.map(Option(_)).toIndexedSeq, values.map(_ => false).toIndexedSeq)
          batch.add(r, 1L << r, weight, words, words.length)
        }
        while (batch.next()) {}
        stream.steps - before
      }
      assert(play((0 until facts).map(i => (0, Seq(i.toLong, 7L), 1L)) :+ ((2, Seq(7L, 1L), 1L)): _*) <= 2 * facts)
      assert(play((2, Seq(7L, 1L), -1L), (2, Seq(7L, 2L), 1L)) === 0)
    }
  }

  test("references that do not hold: a dimension that comes and goes costs its facts each time") {
    for (facts <- Seq(100, 1000)) {
      val stream = new Streams(titles.graph, changelog = true)
      (0 until facts).foreach(i => stream.add(0, i.toLong, 7L))
      val before = stream.steps
      for (_ <- 1 to 10) stream.remove(Seq(2), stream.add(2, 7L))
      assert(stream.steps - before >= 20 * facts)
    }
  }

  private def checkFlat(measured: Seq[Double]): Assertion = {
    info(measured.map(m => f"$m%.3f").mkString("steps per change: ", ", ", ""))
    assert(measured.max <= 3.0 && measured.last <= 1.25 * measured.head)
  }
}

object ForeignKeysSpec {

  /** @param keys the attribute that is the key of each relation, if it has one. Others of its
    *   attributes refer to the relations of which they are the keys
    */
  final private case class Schema(graph: Hypergraph, keys: IndexedSeq[Option[Int]]) {
    def unique: IndexedSeq[Seq[BitSet]] = keys.map(_.map(BitSet(_)).toSeq)
    def withKey(attribute: Int): Int = keys.indexOf(Some(attribute))
    def references(relation: Int): Seq[Int] = graph.edges(relation).toSeq.filterNot(keys(relation).contains(_))
  }

  /** @param refers the rows to which it refers */
  final private class Row(val relation: Int, val values: Seq[Long], val refers: Seq[Row]) {
    var id: Int = -1
    val referring = new mutable.LinkedHashSet[Row]
  }

  /** Batches of rows, at the end of each of which every reference holds. Some rows are referred
    * to by many; some keys are deleted with all that refers to them, and some of these inserted
    * again.
    */
  final private class Play(schema: Schema, size: Int) {
    val stream = new Streams(schema.graph, changelog = true)
    val random = new Random(size.toLong)
    var inserted = 0
    private val listed = schema.keys.map(_ => mutable.ArrayBuffer.empty[Row])
    private val gone = schema.keys.map(_ => mutable.ArrayBuffer.empty[Long])
    private var nextKey = 0L

    def insert(row: Row): Unit = row.id = stream.add(row.relation, row.values: _*)

    def delete(row: Row): Unit = stream.remove(Seq(row.relation), row.id)

    /** A new row of the facts, and those to which it refers that are not there yet. */
    def inserts(): Seq[Row] = {
      val made = mutable.ArrayBuffer.empty[Row]
      def add(relation: Int, key: Option[Long]): Row = {
        val referred = schema.references(relation).map(a => a -> reference(schema.withKey(a))).toMap
        val values = schema.graph.edges(relation).toSeq.map { a =>
          referred.get(a).fold(key.get)(row => row.values(schema.graph.edges(row.relation).toSeq.indexOf(a)))
        }
        val row = new Row(relation, values, referred.values.toSeq)
        referred.values.foreach(_.referring += row)
        listed(relation) += row
        made += row
        inserted += 1
        row
      }
      def reference(relation: Int): Row = {
        val rows = listed(relation)
        // powers of a random number: the first rows are referred to often
        if (rows.nonEmpty && random.nextDouble() < 0.9) rows((rows.size * math.pow(random.nextDouble(), 3)).toInt)
        else add(relation, Some(freshKey(relation)))
      }
      add(0, None)
      made.toSeq
    }

    private def freshKey(relation: Int): Long =
      if (gone(relation).nonEmpty && random.nextBoolean()) gone(relation).remove(gone(relation).size - 1)
      else { nextKey += 1; nextKey }

    /** Deletes some rows with all that refer to them, or all rows, and inserts others, in any
      * order.
      */
    def batch(all: Boolean = false): Unit = {
      val deleted = new mutable.LinkedHashSet[Row]
      def leave(row: Row): Unit = if (deleted.add(row)) row.referring.foreach(leave)
      val some = if (all) listed.flatten
      else listed.flatMap { rows =>
        (0 until rows.size.min(2)).map(_ => rows(random.nextInt(rows.size)))
      }
      // a row to which many refer is not deleted often
      some.filter(row => all || row.relation == 0 || random.nextInt(10) == 0).foreach(leave)
      for ((rows, relation) <- listed.zipWithIndex if deleted.exists(_.relation == relation))
        rows.filterInPlace(!deleted(_))
      for (row <- deleted; a <- schema.keys(row.relation))
        gone(row.relation) += row.values(schema.graph.edges(row.relation).toSeq.indexOf(a))
      for (row <- deleted; to <- row.refers) to.referring -= row
      val made = if (all) Nil else Seq.fill(50)(inserts()).flatten
      val changes = random.shuffle(deleted.toSeq.map(row => () => delete(row)) ++ made.map(row => () => insert(row)))
      changes.foreach(_())
      stream.drain()
    }
  }
}
