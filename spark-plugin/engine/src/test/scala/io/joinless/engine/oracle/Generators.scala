package io.joinless.engine.oracle

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import io.joinless.engine.query._

/** Random queries with random batches, small and dense so that keys collide. A case is a function
  * of its seed.
  */
object Generators {

  def draw(seed: Long): Case = new Generators(new Random(seed), large = false).draw()

  /** A case whose relations are joined by intersection: most are cyclic. */
  def drawBag(seed: Long): Case = new Generators(new Random(seed), large = false, bags = true).draw()

  /** A case of which the total is maintained through a cycle of three relations, on which others may
    * hang.
    */
  def drawTotal(seed: Long): Case = new Generators(new Random(seed), large = false, totals = true).draw()

  /** A case with fewer relations, but hundreds of rows: long lists, large batches, keys that are
    * inserted and deleted.
    */
  def drawLarge(seed: Long): Case = new Generators(new Random(seed), large = true).draw()
}

final private class Generators(
    random: Random,
    large: Boolean,
    bags: Boolean = false,
    totals: Boolean = false
) {

  def draw(): Case = {
    val graph = drawGraph()
    val attributes = graph.edges.indices.flatMap(graph.edges(_)).distinct.size match {
      case 0 => IndexedSeq.empty[CaseAttribute]
      case _ => IndexedSeq.fill(graph.attributes.max + 1)(CaseAttribute(chance(0.25), chance(0.25)))
    }
    val (columns, relations) = drawInputs(graph, attributes)
    val changelog = random.nextInt(4) match {
      case 0 => columns.map(_ => false)
      case 1 | 2 => columns.map(_ => true)
      case 3 => columns.map(_ => random.nextBoolean())
    }
    val domain = 1 + random.nextInt(if (large) 60 else 4)
    val inputs = columns.indices.map(i => CaseInput(changelog(i), columns(i), drawStock(columns(i), domain)))
    val residuals = IndexedSeq.fill(if (chance(0.2)) 1 + random.nextInt(2) else 0) {
      CaseResidual(random.shuffle(graph.edges.indices.toVector).take(1 + random.nextInt(3)).sorted, random.nextInt())
    }
    val query =
      Case(attributes, inputs, relations, drawTree(graph), residuals, IndexedSeq.empty, negatives = chance(0.3))
    query.copy(batches = new BatchGenerator(random, query, large).draw())
  }

  private def chance(p: Double): Boolean = random.nextDouble() < p

  private def drawGraph(): Hypergraph =
    if (totals) drawWithTotal()
    else if (bags) drawAny()
    else if (large) Seq(ShapesOfQueries.line(2), ShapesOfQueries.line(3), ShapesOfQueries.equal(2))(random.nextInt(3))
    else if (chance(0.3)) {
      import ShapesOfQueries._
      val shapes = Seq(line(2), line(3), line(4), line(5), line(6), star(2), star(3), star(4), star(6), comb, snowflake)
      val more =
        Seq(bushy, equal(2), equal(3), product(1), product(2), product(3), comb + scala.collection.immutable.BitSet(4))
      (shapes ++ more)(random.nextInt(shapes.size + more.size))
    } else
      Iterator.continually(HypergraphGenerators.drawAcyclic(random, 6, 7)).dropWhile(_.edges.exists(_.size > 4)).next()

  /** Mostly cyclic graphs: cycles and cliques with further relations, and any others of up to six
    * relations.
    */
  private def drawAny(): Hypergraph = {
    import ShapesOfQueries._
    val further = Hypergraph(IndexedSeq.fill(random.nextInt(3))(someOf(5)))
    random.nextInt(6) match {
      case 0 => Hypergraph(cycle(3).edges ++ further.edges)
      case 1 => Hypergraph(cycle(4).edges ++ further.edges)
      case 2 => if (chance(0.5)) clique(4) else lollipop
      case _ =>
        val graphs = Iterator.continually(Hypergraph(IndexedSeq.fill(2 + random.nextInt(5))(someOf(5))))
        if (chance(0.8)) graphs.dropWhile(GyoReduction.isAcyclic).next() else graphs.next()
    }
  }

  /** A cycle of three relations, with up to three further ones. */
  private def drawWithTotal(): Hypergraph = {
    import ShapesOfQueries._
    val graphs =
      Iterator.continually(Hypergraph(random.shuffle(cycle(3).edges ++ IndexedSeq.fill(random.nextInt(4))(someOf(5)))))
    graphs.filterNot(GyoReduction.isAcyclic).dropWhile(
      Reduction.best(_, scala.collection.immutable.BitSet.empty).isLeft
    ).next()
  }

  /** Up to four of the first attributes; mostly two, rarely none. */
  private def someOf(attributes: Int): scala.collection.immutable.BitSet = {
    val size = if (chance(0.03)) 0 else Seq(1, 2, 2, 2, 2, 2, 3, 4)(random.nextInt(8))
    scala.collection.immutable.BitSet.fromSpecific(Seq.fill(size)(random.nextInt(attributes)))
  }

  /** Relations share inputs at random: then several attributes may be in one column, one per
    * relation.
    */
  private def drawInputs(
      graph: Hypergraph,
      attributes: IndexedSeq[CaseAttribute]
  ): (IndexedSeq[IndexedSeq[Boolean]], IndexedSeq[CaseRelation]) = {
    val columns = ArrayBuffer.empty[ArrayBuffer[Boolean]]
    val relations = graph.edges.map { edge =>
      val input = if (columns.nonEmpty && chance(0.4)) random.nextInt(columns.size) else columns.size
      if (input == columns.size) columns += ArrayBuffer.empty
      val mine = columns(input)
      val taken = scala.collection.mutable.HashSet.empty[Int]
      val keys = edge.toIndexedSeq.map { a =>
        val free = mine.indices.filter(c => mine(c) == attributes(a).variable && !taken(c))
        val column = if (free.nonEmpty && chance(0.8)) free(random.nextInt(free.size))
        else { mine += attributes(a).variable; mine.size - 1 }
        taken += column
        a -> column
      }
      CaseRelation(input, keys)
    }
    for (mine <- columns) {
      if (chance(0.2)) mine += true
      if (chance(0.05)) mine ++= Seq.fill(65)(false)
      if (mine.isEmpty) mine += false
    }
    (columns.map(_.toIndexedSeq).toIndexedSeq, relations)
  }

  private def drawStock(columns: IndexedSeq[Boolean], domain: Int): IndexedSeq[IndexedSeq[Option[Long]]] =
    IndexedSeq.fill(if (large) 200 + random.nextInt(400) else 2 + random.nextInt(14)) {
      columns.indices.map { c =>
        if (chance(0.07)) None
        else if (c < 6) Some(if (chance(if (large) 0.1 else 0.3)) 0L else random.nextInt(domain).toLong)
        else Some(0L)
      }
    }.distinct

  private def drawTree(graph: Hypergraph): JoinTree = if (bags || totals) BagNode.of(graph)
  else {
    val sizes = IndexedSeq.fill(graph.size)(1.0)
    def search(bound: Long) = TreeSearch.search(graph, sizes, bound).fold(core => sys.error(core.toString), _.tree)
    random.nextInt(4) match {
      case 0 => search(0)
      case 1 if graph.size <= 4 =>
        val some = AllTrees.of(graph).take(100).toIndexedSeq
        some(random.nextInt(some.size))
      case _ => search(TreeSearch.WorkBound)
    }
  }
}

/** Batches for a query: inserts and deletes of rows of the stock, with multiplicities, hubs, drains
  * and refills, changes that cancel within a batch, and batches that delete absent rows.
  */
final private class BatchGenerator(random: Random, query: Case, large: Boolean) {
  private[this] val relations = query.relations.indices
  private[this] val present = query.relations.map(r => new Array[Long](query.inputs(r.input).rows.size)).toArray
  private[this] val setMode = random.nextBoolean()
  private[this] val cap =
    if (large) IndexedSeq(0, 500, 400, 150)(relations.size) else IndexedSeq(0, 30, 20, 10, 7, 5, 4)(relations.size)
  private[this] val maximum = if (setMode) 1 else 3

  def draw(): IndexedSeq[IndexedSeq[CaseChange]] = IndexedSeq.fill(if (large) 12 else 10 + random.nextInt(60)) {
    val before = present.map(_.clone())
    val size = (if (large) Seq(1, 100, 1000) else Seq(0, 1, 1, 2, 2, 5, 12)).apply(random.nextInt(if (large) 3 else 7))
    val batch =
      if (random.nextInt(25) == 0) drain()
      else
        IndexedSeq.fill(size)(change()).flatten ++
          (if (random.nextInt(if (query.negatives) 5 else 40) == 0) absent() else None)
    applyIfLegal(before, batch)
    random.shuffle(batch)
  }

  /** Applies a batch to the expected counts. A batch that deletes an absent row does nothing at
    * all, unless multiplicities may be negative.
    */
  private def applyIfLegal(before: Array[Array[Long]], batch: IndexedSeq[CaseChange]): Unit = {
    val after = new NaiveJoin(query)
    for (r <- relations; row <- present(r).indices) after.multiplicity(r)(row) = before(r)(row)
    after(batch)
    val legal = query.negatives || after.multiplicity.forall(_.forall(_ >= 0))
    for (r <- relations; row <- present(r).indices)
      present(r)(row) = if (legal) after.multiplicity(r)(row) else before(r)(row)
  }

  private def changelog(r: Int): Boolean = query.inputs(query.relations(r).input).retractable

  private def change(): IndexedSeq[CaseChange] = {
    val r = random.nextInt(relations.size)
    val input = query.relations(r).input
    val there = present(r).indices.filter(present(r)(_) > 0)
    val full = present(r).iterator.filter(_ > 0).sum >= cap
    if (changelog(r) && there.nonEmpty && (full || random.nextDouble() < 0.5)) {
      val row = there(random.nextInt(there.size))
      val weight = 1 + random.nextInt(present(r)(row).toInt)
      val both = relations.filter(o => query.relations(o).input == input && present(o)(row) >= weight)
      record(CaseChange(input, row, mask(r, both), -weight.toLong))
    } else if (full) IndexedSeq.empty
    else {
      val row = random.nextInt(query.inputs(input).rows.size)
      val weight = if (changelog(r)) 1 + random.nextInt(math.min(2, maximum)) else 1
      val allowed = query.roles(input, row)
      val open = relations.filter { o =>
        (allowed >>> o & 1L) != 0 && present(o).iterator.filter(_ > 0).sum < cap && (!changelog(o) || present(o)(
          row
        ) + weight <= maximum)
      }
      if (!open.contains(r)) IndexedSeq.empty else record(CaseChange(input, row, mask(r, open), weight.toLong))
    }
  }

  private def mask(r: Int, others: IndexedSeq[Int]): Long =
    others.filter(o => o == r || random.nextBoolean()).map(1L << _).sum

  private def record(change: CaseChange): IndexedSeq[CaseChange] = {
    for (r <- relations if (change.roles >>> r & 1L) != 0) present(r)(change.row) += change.weight
    if (query.inputs(change.input).retractable && random.nextInt(12) == 0) {
      // inserted and deleted again within the batch, which nets to nothing
      val twin = change.copy(weight = -change.weight)
      IndexedSeq(change, twin, change)
    } else IndexedSeq(change)
  }

  private def drain(): IndexedSeq[CaseChange] =
    for {
      r <- relations if changelog(r)
      row <- present(r).indices if present(r)(row) > 0
      change <- record(CaseChange(query.relations(r).input, row, 1L << r, -present(r)(row)))
    } yield change

  private def absent(): Option[CaseChange] = {
    val r = random.nextInt(relations.size)
    val input = query.relations(r).input
    val row = random.nextInt(present(r).length)
    if (changelog(r) && (query.roles(input, row) >>> r & 1L) != 0)
      Some(CaseChange(input, row, 1L << r, -math.max(present(r)(row), 0) - 1))
    else None
  }
}
