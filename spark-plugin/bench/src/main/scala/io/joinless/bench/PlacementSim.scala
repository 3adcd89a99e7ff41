package io.joinless.bench

import java.nio.file.{Files, Paths}

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.spark.placement.{Cells, Placement, Shares}
import io.joinless.spark.spec._
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.LongType
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** A simulation of scale-out without a cluster, a target of docs/benchmarks.md. Edges are sent to
  * the cells that Joinless' own placement chooses, for 4 to 1024 cells. The fullest cell is
  * compared with that of the best vector of shares within the same bounds.
  *
  * Arguments, each `name=value`, all optional: `edges` (50000), `exponents` (0,0.75,1: uniform, the
  * known graphs', more skew), `folder` (a stream of edges in place of generated ones), `queries`
  * (L3,L4,STAR4), `bounds` of the copies of a row (8,32), `cells` (4,8,…,1024), `percent` of the
  * edges that the last relation contains (100), `json` (a file for the rows).
  *
  * Load is rows per cell; a row counts once for each relation that sends it there. `imbalance` =
  * largest / mean load; `replication` = rows sent per row of a relation; `stored` = rows stored per
  * input row (a cell stores a row once). `best` is found by trying every vector of shares with at
  * most so many cells and that replication, with the same hashes, so it may be best by chance;
  * `elsewhere` is the ratio of the two vectors over eight other hashes.
  */
object PlacementSim {

  def main(args: Array[String]): Unit = {
    val settings = args.map(_.split("=", 2)).map(a => a(0) -> a(1)).toMap
    def numbers(name: String, default: String) =
      settings.getOrElse(name, default).split(',').toIndexedSeq.map(_.toDouble)
    val size = settings.getOrElse("edges", "50000").toInt
    val graphs = settings.get("folder") match {
      case Some(folder) => Seq(folder -> Graphs.read(Paths.get(folder)))
      case None => numbers("exponents", "0,0.75,1").map(e => s"$size edges, exponent $e" -> Graphs.generate(size, e))
    }
    println(
      "| graph | query | bound | cells | shares | imbalance | replication | stored | largest | best shares | best | ratio | elsewhere |"
    )
    println("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    val lines = for {
      (name, edges) <- graphs
      query <- settings.getOrElse("queries", "L3,L4,STAR4").split(',').toSeq
      bound <- numbers("bounds", "8,32")
      sim = new PlacementSim(query, edges, Graphs.threshold(edges, numbers("percent", "100").head))
      cells <- numbers("cells", (2 to 10).map(1 << _).mkString(","))
    } yield {
      val row = sim.at(cells.toInt, bound)
      println(row.table(name, query))
      row.json(name, query)
    }
    settings.get("json").foreach(file => Files.writeString(Paths.get(file), lines.mkString("[\n", ",\n", "\n]\n")))
  }

  final case class Row(
      cells: Int,
      bound: Double,
      shares: IndexedSeq[Int],
      load: Load,
      replication: Double,
      stored: Double,
      bestShares: IndexedSeq[Int],
      best: Long,
      elsewhere: Double
  ) {
    def imbalance: Double = load.largest / load.mean
    def ratio: Double = load.largest.toDouble / best

    def table(graph: String, query: String): String =
      f"| $graph | $query | $bound%.0f | $cells | ${shares.mkString("×")} | $imbalance%.2f | $replication%.2f | $stored%.2f | ${load.largest} | ${bestShares.mkString("×")} | $best | $ratio%.2f | $elsewhere%.2f |"

    def json(graph: String, query: String): String =
      s"""{"graph": "$graph", "query": "$query", "bound": $bound, "cells": $cells, "shares": [${shares.mkString(
          ", "
        )}], """ +
        s""""imbalance": $imbalance, "replication": $replication, "stored": $stored, "largest": ${load.largest}, """ +
        s""""best_shares": [${bestShares.mkString(", ")}], "best": $best, "ratio": $ratio, "elsewhere": $elsewhere}"""
  }

  /** The rows in the fullest cell, and the mean over cells. */
  final case class Load(largest: Long, mean: Double)
}

/** One query over one graph: `L<n>`, a path of n over one stream, or `STAR<n>`, n streams (position
  * mod n) on their src.
  */
final class PlacementSim(query: String, edges: EdgeBatch, threshold: Long) {
  import PlacementSim._

  private val star = query.startsWith("STAR")
  private val relations = query.filter(_.isDigit).toInt
  private val keys = (0 until relations).map { r =>
    if (star) IndexedSeq(KeySpec(0, 0))
    else IndexedSeq(KeySpec(r - 1, 0), KeySpec(r, 1)).filter(k => k.attribute >= 0 && k.attribute < relations - 1)
  }
  private val shape = {
    val layout = InputSpec(IndexedSeq(ColumnSpec("src", LongType), ColumnSpec("dst", LongType)), InputKind.Appended)
    BlockShape(
      id = NodeId(0),
      inputs = IndexedSeq.fill(if (star) relations else 1)(layout),
      attributes =
        keys.flatten.map(_.attribute).distinct.sorted.map(x => AttributeSpec(s"x$x", LongType, nullSafe = false)),
      relations = keys.indices.map(r => RelationSpec(s"r$r", if (star) r else 0, keys(r))),
      tree = TreeSearch.best(Hypergraph(keys.map(k => BitSet.fromSpecific(k.map(_.attribute))))).toOption.get,
      residuals = IndexedSeq.empty,
      output = IndexedSeq.empty
    )
  }

  /** The positions of the edges that a relation contains. */
  private val rowsOf: IndexedSeq[Array[Int]] = (0 until relations).map { r =>
    edges.src.indices.filter(i =>
      (!star || i % relations == r) && (r < relations - 1 || edges.dst(i) > threshold)
    ).toArray
  }
  private val total = rowsOf.iterator.map(_.length.toLong).sum

  /** Per relation and key the hash of each row. With seed 0 it is that of `Cells`, against which
    * `at` checks it.
    */
  private def hashed(seed: Int): IndexedSeq[IndexedSeq[Array[Int]]] = keys.indices.map { r =>
    keys(r).map { k =>
      val column = if (k.ordinal == 0) edges.src else edges.dst
      rowsOf(r).map(i => Murmur3_x86_32.hashLong(column(i), 0x4a4c0000 + k.attribute + seed))
    }
  }
  private val hashes = hashed(0)
  private val otherHashes = (1 to 8).map(i => hashed(i << 8))

  def at(cells: Int, bound: Double): Row = {
    // as without hints: relations are taken to be of equal size
    val shares = Shares.choose(shape, cells, bound, IndexedSeq.fill(relations)(1.0))
    val (loads, stored) = place(shares)
    val load = Load(loads.max, loads.sum.toDouble / loads.length)
    require(largest(shares) == load.largest, s"hashes differ from those of the placement at $shares")
    val (bestShares, best) = bestOf(cells, bound)
    val elsewhere = otherHashes.map(largest(shares, _)).sum.toDouble / otherHashes.map(largest(bestShares, _)).sum
    val inputRows = if (star) total else edges.size.toLong
    Row(
      cells,
      bound,
      shares,
      load,
      loads.sum.toDouble / total,
      stored.toDouble / inputRows,
      bestShares,
      best,
      elsewhere
    )
  }

  /** Rows per cell, and rows stored over all cells, by the plugin's own placement. */
  private def place(shares: IndexedSeq[Int]): (Array[Long], Long) = {
    val placed = BlockSpec(shape, shares)
    val cells = new Cells(placed)
    val loads = new Array[Long](placed.cells)
    val row = new UnsafeRow(2)
    row.pointTo(new Array[Byte](24), 24)
    val roles = Array.fill(edges.size)(mutable.ArrayBuffer.empty[Int])
    for (r <- rowsOf.indices; i <- rowsOf(r)) roles(i) += r
    var stored = 0L
    for (i <- roles.indices) {
      row.setLong(0, edges.src(i))
      row.setLong(1, edges.dst(i))
      cells.clear()
      roles(i).foreach(cells.add(_, row))
      for (c <- 0 until cells.size) loads(cells.cell(c)) += java.lang.Long.bitCount(cells.roles(c))
      stored += cells.size
    }
    (loads, stored)
  }

  /** The vector with the smallest fullest cell. Vectors are tried by ascending mean load, which is
    * a lower bound of the fullest cell.
    */
  private def bestOf(cells: Int, bound: Double): (IndexedSeq[Int], Long) = {
    val sizes = rowsOf.map(_.length.toDouble)
    val possible = vectors(shape.attributes.size, cells).map(Placement.of(shape, _, sizes))
      .filter(p => p.stored <= bound * (1 + 1e-9)).toIndexedSeq.sortBy(_.load)
    var best = (possible.head.shares, largest(possible.head.shares))
    for (p <- possible.iterator.drop(1).takeWhile(_.load < best._2)) {
      val found = largest(p.shares)
      if (found < best._2) best = (p.shares, found)
    }
    best
  }

  private def vectors(attributes: Int, cells: Int): Iterator[IndexedSeq[Int]] =
    if (attributes == 0) Iterator(IndexedSeq.empty)
    else (1 to cells).iterator.flatMap(p => vectors(attributes - 1, cells / p).map(p +: _))

  /** The rows of the fullest cell: each relation's rows counted by their own coordinates, added up
    * over all cells.
    */
  private def largest(shares: IndexedSeq[Int], hashes: IndexedSeq[IndexedSeq[Array[Int]]] = hashes): Long = {
    val loads = new Array[Long](shares.product)
    val strides = shares.scanRight(1)(_ * _).tail
    for (r <- keys.indices) {
      val own = keys(r).map(k => shares(k.attribute))
      val counts = count(hashes(r), own, rowsOf(r).length)
      var cell = 0
      while (cell < loads.length) {
        var at = 0
        for (k <- keys(r)) at = at * shares(k.attribute) + cell / strides(k.attribute) % shares(k.attribute)
        loads(cell) += counts(at)
        cell += 1
      }
    }
    loads.max
  }

  private def count(hashes: IndexedSeq[Array[Int]], shares: IndexedSeq[Int], rows: Int): Array[Int] = {
    val counts = new Array[Int](shares.product)
    val (first, second) = (hashes.head, hashes.last)
    val (p, q) = (shares.head, if (shares.size > 1) shares.last else 1)
    var i = 0
    while (i < rows) {
      counts(Math.floorMod(first(i), p) * q + Math.floorMod(second(i), q)) += 1
      i += 1
    }
    counts
  }
}
