package io.joinless.engine.reduce

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.algebra.Counts
import io.joinless.engine.query.{BagNode, Reduction, ShapesOfQueries}
import io.joinless.engine.tuples.{KeyField, ProjectedField}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef}

/** R(a,b) ⋈ S(b,c) ⋈ T(c,a) under changes at hubs, with the number of triangles by hash maps beside
  * it.
  *
  * @param shared the relations are roles of one input, and each row is in some of them
  * @param keys the vertices by which triangles are counted; vertex j is what relation j shares with
  *     the one before
  */
final class HubTriangles(shared: Boolean = false, keys: Seq[Int] = Nil) {
  private[this] val graph = ShapesOfQueries.cycle(3)
  private[this] val inputs = IndexedSeq.fill(if (shared) 1 else 3)(InputDef(2, 3, retractable = true))
  private[this] val relations = graph.edges.indices.map { r =>
    RelationDef(inputOf(r), columns(r).zipWithIndex.map { case (x, i) => x -> KeyField(i, variable = false) })
  }
  private[this] val block =
    BlockDef(inputs, IndexedSeq.fill(3)(AttributeDef(nullSafe = false)), relations, BagNode.of(graph))
  private[this] val attributes = keys.map(j => columns(j)(0))
  private[this] val reduction = Reduction.best(graph, BitSet.fromSpecific(attributes)).toOption.get
  private[this] val components = reduction.components.map { c =>
    ComponentDef(c.tree, Map(c.relations.head -> IndexedSeq.tabulate(2)(ProjectedField(_, variable = false))))
  }
  private[this] val top = block.copy(tree = reduction.top)
  private[this] val join = new ReducedJoin(ReducedDef(
    block,
    components,
    top,
    Counts,
    IndexedSeq.fill(3)(None),
    BitSet.fromSpecific(attributes)
  ))
  private[this] val batch = new ReducedBatch(join, IndexedSeq.empty)

  // per relation: the counts of rows, by first and second value; the first values of each second one
  private[this] val counts = Array.fill(3)(mutable.HashMap.empty[Long, mutable.HashMap[Long, Long]])
  private[this] val sources = Array.fill(3)(mutable.HashMap.empty[Long, mutable.HashSet[Long]])
  private[this] val rows = mutable.LinkedHashSet.empty[(Int, Long, Long)]

  /** The total that the engine has emitted, and that of the hash maps. */
  var total, expected = 0L
  private[this] val totals, expectedTotals = mutable.HashMap.empty[Seq[Long], Long]

  /** Whether the totals per key are those of the hash maps. */
  def areRight: Boolean = total == expected && totals == expectedTotals

  /** The sum over all changes of the shorter list that an intersection walks. */
  var walked = 0L

  def steps: Long = join.counters.steps
  def sizes: IndexedSeq[(Int, Int)] = join.cycle.sizes
  def isEmpty: Boolean = join.isEmpty

  /** The attributes of a relation: shared with the one before, then with the next one. */
  private def columns(r: Int): IndexedSeq[Int] = {
    val before = graph.edges(r) & graph.edges((r + 2) % 3)
    before.toIndexedSeq ++ (graph.edges(r) &~ before)
  }

  private def inputOf(r: Int): Int = if (shared) 0 else r

  private def count(r: Int, first: Long, second: Long): Long =
    counts(r).get(first).flatMap(_.get(second)).getOrElse(0L)

  /** Adds a change to the pending batch. */
  def add(r: Int, first: Long, second: Long, weight: Long): Unit = {
    val (s, t) = ((r + 1) % 3, (r + 2) % 3)
    val (out, in) = (counts(s).get(second), sources(t).get(first))
    def expect(c: Long): Unit = {
      val n = weight * count(s, second, c) * count(t, c, first)
      val vertices = Map(r -> first, s -> second, t -> c)
      expected += n
      if (n != 0) put(expectedTotals, keys.map(vertices), n)
    }
    if (out.isDefined && in.isDefined) {
      walked += math.min(out.get.size, in.get.size).toLong
      (if (out.get.size < in.get.size) out.get.keysIterator else in.get.iterator).foreach(expect)
    }
    val list = counts(r).getOrElseUpdate(first, mutable.HashMap.empty)
    list(second) = list.getOrElse(second, 0L) + weight
    val isThere = list(second) > 0
    if (isThere) {
      val _ = (rows.add((r, first, second)), sources(r).getOrElseUpdate(second, mutable.HashSet.empty).add(first))
    } else { val _ = (rows.remove((r, first, second)), list.remove(second), sources(r)(second).remove(first)) }
    batch.add(inputOf(r), 1L << r, weight, Array(0L, first, second), 3)
  }

  private def put(into: mutable.HashMap[Seq[Long], Long], key: Seq[Long], n: Long): Unit = {
    into(key) = into.getOrElse(key, 0L) + n
    if (into(key) == 0L) { val _ = into.remove(key) }
  }

  /** Applies the pending batch. */
  def apply(): Unit = {
    val keyed = components.indices.find(c => attributes.forall(columns(c).contains(_))).get
    while (batch.next()) {
      total += batch.weight
      val arena = join.projectedRows(keyed)
      val row = batch.rows(keyed)
      val key = attributes.map(x => arena.page(row)(arena.start(row) + 1 + columns(keyed).indexOf(x)))
      put(totals, key, batch.weight)
    }
  }

  /** Applies a change of a row. */
  def change(r: Int, first: Long, second: Long, weight: Long): Unit = { add(r, first, second, weight); apply() }

  /** Changes a row between two hubs, or one between a hub and another value: while the lists of hubs
    * grow, inserts it; else deletes the oldest row.
    */
  def change(random: Random, hubs: Int, size: Int, grows: Boolean): Unit = {
    addSome(random, 0, hubs, size, size, grows)
    apply()
  }

  private def addSome(random: Random, lowest: Int, hubs: Int, values: Int, size: Int, grows: Boolean): Unit = {
    val r = random.nextInt(3)
    def hubOf() = (lowest + random.nextInt(hubs)).toLong
    val hub = hubOf()
    val other = if (random.nextBoolean()) hubOf() else random.nextInt(values).toLong
    val (first, second) = if (random.nextBoolean()) (hub, other) else (other, hub)
    val there = count(r, first, second)
    if (there > 0)
      add(r, first, second, if (there < 3 && random.nextInt(4) == 0) 1 else -1 - random.nextInt(there.toInt))
    else if (other >= lowest && other < lowest + hubs || grows && rows.size < size || rows.isEmpty)
      add(r, first, second, 1)
    else deleteOldest()
  }

  private def deleteOldest(): Unit = {
    val (r, first, second) = rows.head
    add(r, first, second, -count(r, first, second))
  }

  /** Deletes all rows, one after the other. */
  def clear(): Unit = while (rows.nonEmpty) { deleteOldest(); apply() }
}

object HubTriangles {

  /** Plays random batches of few rows, so that borders are low, and compares the total after each. */
  def failure(seed: Long): Option[String] = {
    val random = new Random(seed)
    val triangles = new HubTriangles(shared = seed % 2 == 1, random.shuffle(Seq(0, 1, 2)).take(random.nextInt(3)))
    val (hubs, values) = (1 + random.nextInt(4), 20 + random.nextInt(150))
    val wrong = Iterator.range(0, 400).map { i =>
      for (_ <- 0 until Seq(1, 1, 4, 20).apply(random.nextInt(4)))
        triangles.addSome(random, i / 160 * hubs, hubs, values, values * hubs * 4, grows = i / 80 % 2 == 0)
      triangles.apply()
      Option.unless(triangles.areRight)(s"batch $i: ${triangles.total}, not ${triangles.expected}")
    }.collectFirst { case Some(what) => what }
    wrong.orElse {
      triangles.clear()
      Option.when(!triangles.isEmpty || triangles.total != 0)(s"left: ${triangles.total}")
    }
  }
}
