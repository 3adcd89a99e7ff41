package io.joinless.spark.source

import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.enumerate.{Lookup, Residual, TooManyTests}
import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.rows.OutputRow
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** The rows of one cell that have given values, looked up in the tree of a running query
  * ([[io.joinless.engine.enumerate.Lookup]]) and copied: the query's tree is free again before the
  * first row is returned.
  *
  * That tree has all rows, so conditions on single relations are checked here: equal values by the
  * look-up, others as residuals.
  */
final private[source] class TreeLookup(scan: ResultCells, cell: Int) {
  import TreeLookup._

  /** The rows; None if this executor does not have the tree, or they are many, or hard to find. */
  def rows: Option[ArrayBuffer[InternalRow]] = inTree { (tree, before) =>
    val arenaOf = scan.arenas(tree)
    val results = lookup(tree, before, arenaOf)
    val output = new OutputRow(scan.spec, arenaOf)
    val shown = scan.shown(cell)
    val rows = ArrayBuffer.empty[InternalRow]
    var (looked, few) = (0, true)
    while (few && results.next()) {
      val row = shown(output.update(results.rows, results.changed))
      looked += 1
      few = looked <= CellPositions.FewRows && results.weight <= CellPositions.FewRows - rows.size
      if (few && row != null) {
        val copy = row.copy()
        for (_ <- 1L to results.weight) rows += copy
      }
    }
    Option.when(few)(rows)
  }

  /** How many rows there are, where none are rejected otherwise. */
  def number: Option[BigInt] = inTree { (tree, before) =>
    val results = lookup(tree, before, scan.arenas(tree))
    var (number, looked) = (BigInt(0), 0)
    while (looked <= CellPositions.FewRows && results.next()) {
      number += results.weight
      looked += 1
    }
    Option.when(looked <= CellPositions.FewRows)(number)
  }

  private def inTree[A](read: (ViewTree, Before) => Option[A]): Option[A] = {
    val tree = new CellTree(scan.spec, scan.stores, cell, scan.cacheMaxBytes, scan.lookedUpIn)
    try tree.ofRunningOrNewer(read).flatten
    catch { case _: TooManyTests => None }
    finally tree.close()
  }

  /** @param before of a tree that is a batch later than what is read: bounds of the ids of rows */
  private def lookup(tree: ViewTree, before: Before, arenaOf: Int => TupleArena): Lookup = {
    val equal = scan.taken.map(EqualValues.of)
    val others = scan.taken.zip(equal).collect { case (filter, None) =>
      val columns = scan.spec.inputs(scan.spec.relations(filter.relation).input).columns.size
      new OfRelation(filter.relation, filter.condition, columns, arenaOf(filter.relation))
    }
    val older = for (bounds <- before.toIndexedSeq; r <- scan.spec.relations.indices)
      yield new Older(r, bounds(scan.spec.relations(r).input))
    new Lookup(tree, older ++ scan.residualsOver(arenaOf) ++ others, equal.flatten.map(_.bound).toIndexedSeq, MostTests)
  }
}

private[source] object TreeLookup {

  /** So many tuples and combinations are tested while a running query may wait. */
  final val MostTests = 1L << 22

  private type Before = Option[IndexedSeq[Int]]

  /** A row was there before the last batch. */
  final private class Older(relation: Int, bound: Int) extends Residual {
    override val relations: IndexedSeq[Int] = IndexedSeq(relation)
    override def accept(rows: Array[Int]): Boolean = rows(relation) < bound
  }

  /** A condition on the rows of one relation, in place. */
  final private class OfRelation(relation: Int, condition: Expression, columns: Int, arena: TupleArena)
      extends Residual {
    private[this] val predicate = Predicate.create(condition)
    predicate.initialize(0)
    private[this] val row = new UnsafeRow(columns)

    override val relations: IndexedSeq[Int] = IndexedSeq(relation)

    override def accept(rows: Array[Int]): Boolean = {
      val r = rows(relation)
      row.pointTo(arena.page(r), Platform.LONG_ARRAY_OFFSET + 8L * arena.start(r), 8 * arena.words(r))
      predicate.eval(row)
    }
  }
}
