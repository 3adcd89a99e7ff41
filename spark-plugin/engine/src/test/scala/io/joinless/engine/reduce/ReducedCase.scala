package io.joinless.engine.reduce

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.algebra.{ExactSums, Ring}
import io.joinless.engine.oracle.{Case, Generators, Rows}
import io.joinless.engine.query.{BagNode, GyoReduction, Hypergraph, Reduction}
import io.joinless.engine.tuples.{KeyField, ProjectedField, RowProjection, TupleArena}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, Lift, RelationDef}

/** A random query that projects some attributes and columns, over the relations and batches of a
  * [[Case]].
  *
  * Vertices are the case's attributes and, behind them, the projected columns that are no key: one
  * per relation.
  *
  * @param requested the requested vertices; the reduction may project more
  * @param distinct per component, whether its projected rows count once
  */
final case class ReducedCase(
    of: Case,
    requested: BitSet,
    columns: IndexedSeq[(Int, Int)],
    distinct: IndexedSeq[Boolean]
) {

  private val attributes = of.attributes.size

  val graph: Hypergraph = Hypergraph(of.relations.indices.map { r =>
    of.graph.edges(r) | BitSet.fromSpecific(columns.indices.filter(columns(_)._1 == r).map(attributes + _))
  })

  val reduction: Reduction =
    Reduction.best(graph, requested, once = distinct.forall(identity)).fold(core => sys.error(core.toString), identity)

  /** The column of a vertex in a relation. */
  def column(relation: Int, vertex: Int): Int =
    if (vertex >= attributes) columns(vertex - attributes)._2
    else of.relations(relation).keys.collectFirst { case (`vertex`, c) => c }.get

  /** Whether only the total over a cycle is emitted, as one result without rows. */
  val isTotal: Boolean = reduction.top.isInstanceOf[BagNode]

  /** The first component that projects all keys of a total. */
  private def keyed: Int = reduction.components.indexWhere(c => requested.subsetOf(c.projected))

  /** The values of a component's rows, by what is stored of them. */
  private lazy val stocks: IndexedSeq[Map[IndexedSeq[Long], Map[Int, Option[Long]]]] =
    reduction.components.indices.map { c =>
      ComponentDef.atRoot(reduction.components(c).tree).flatMap { r =>
        of.inputs(of.relations(r).input).rows.map { row =>
          val values = projected(c).map(x => x -> row(column(r, x))).toMap
          words(c, values) -> values
        }
      }.toMap
    }

  /** A result as the rows of all components, by their ids; a total by the values of its keys. */
  def key(join: ReducedJoin, rows: Array[Int]): IndexedSeq[IndexedSeq[Long]] =
    if (!isTotal) reduction.components.indices.map(c => values(join.projectedRows(c), rows(c)))
    else if (requested.isEmpty) IndexedSeq.empty
    else keyOf(stocks(keyed)(values(join.projectedRows(keyed), rows(keyed))))

  private def keyOf(values: Int => Option[Long]): IndexedSeq[IndexedSeq[Long]] =
    requested.toIndexedSeq.map(values(_).toIndexedSeq)

  private def isVariable(vertex: Int): Boolean =
    if (vertex < attributes) of.attributes(vertex).variable
    else { val (r, c) = columns(vertex - attributes); of.inputs(of.relations(r).input).columns(c) }

  /** The projected vertices in the order of the component's columns. */
  def projected(component: Int): IndexedSeq[Int] =
    ComponentDef.inOrder(reduction.components(component).tree, reduction.components(component).projected)(column)

  def definition(ring: Ring, lifts: Boolean): ReducedDef = {
    val components = reduction.components.indices.map { c =>
      val tree = reduction.components(c).tree
      ComponentDef(
        tree,
        ComponentDef.atRoot(tree).map { r =>
          r -> projected(c).map(x => ProjectedField(column(r, x), isVariable(x)))
        }.toMap,
        distinct(c)
      )
    }
    val inputs = if (isTotal) ComponentDef.sharedInputs(components, of.block) else components.indices
    val top = BlockDef(
      inputs.distinct.map(inputs.indexOf(_)).map { c =>
        val variable = projected(c).exists(isVariable)
        InputDef(
          projected(c).size,
          if (variable) 0 else RowProjection.fixedWords(projected(c).size),
          retractable = true
        )
      },
      IndexedSeq.tabulate(graph.attributes.lastOption.fold(0)(_ + 1)) { x =>
        AttributeDef(x < attributes && of.attributes(x).nullSafe)
      },
      reduction.components.indices.map { c =>
        RelationDef(
          inputs(c),
          projected(c).zipWithIndex.map { case (x, i) => x -> KeyField(i, isVariable(x)) }
        )
      },
      reduction.top
    )
    val rowLifts = of.relations.indices.map(r => Option.when(lifts)(new ReducedCase.Values(r): Lift))
    ReducedDef(of.block, components, top, ring, rowLifts, if (isTotal) requested else BitSet.empty)
  }

  /** The words of a component's projected row, from the row of one of its relations that has all of
    * its vertices.
    */
  def words(component: Int, values: Int => Option[Long]): IndexedSeq[Long] = {
    val vertices = projected(component)
    val words = Rows.encode(vertices.map(values), vertices.map(isVariable))
    if (words.isEmpty) IndexedSeq(0L) else words.toIndexedSeq
  }

  def values(arena: TupleArena, row: Int): IndexedSeq[Long] =
    (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i))

  /** The oracle: nested loops, from scratch. Maps each result, as the rows of all components, to
    * its element. Totals are results by their keys.
    */
  def result(multiplicity: Array[Array[Long]]): Map[IndexedSeq[IndexedSeq[Long]], IndexedSeq[Long]] = {
    val parts = reduction.components.indices.map(c => part(c, multiplicity))
    val found = mutable.Map.empty[IndexedSeq[IndexedSeq[Long]], IndexedSeq[Long]]
    def join(
        c: Int,
        bound: Map[Int, Option[Long]],
        rows: IndexedSeq[IndexedSeq[Long]],
        element: IndexedSeq[Long]
    ): Unit =
      if (c == parts.size) {
        val key = if (isTotal) keyOf(bound) else rows
        found(key) = found.getOrElse(key, IndexedSeq(0L, 0L, 0L)).zip(element).map { case (a, b) => a + b }
      } else
        for ((values, more) <- parts(c) if values.forall { case (x, v) => bound.get(x).forall(_ == v) })
          join(
            c + 1,
            bound ++ values,
            rows :+ words(c, values),
            element.zip(if (distinct(c)) IndexedSeq(1L, 1L, 1L) else more).map { case (a, b) => a * b }
          )
    join(0, Map.empty, IndexedSeq.empty, IndexedSeq(1L, 1L, 1L))
    found.toMap
  }

  private def part(component: Int, multiplicity: Array[Array[Long]]): Map[Map[Int, Option[Long]], IndexedSeq[Long]] = {
    val relations = reduction.components(component).relations.toIndexedSeq
    val sums = mutable.Map.empty[Map[Int, Option[Long]], IndexedSeq[Long]]
    def join(i: Int, bound: Map[Int, Option[Long]], element: IndexedSeq[Long]): Unit =
      if (i == relations.size) {
        val key = bound.filter { case (x, _) => reduction.components(component).projected(x) }
        sums(key) = sums.getOrElse(key, IndexedSeq(0L, 0L, 0L)).zip(element).map { case (a, b) => a + b }
      } else {
        val r = relations(i)
        val input = of.inputs(of.relations(r).input)
        for (row <- input.rows.indices if multiplicity(r)(row) > 0) {
          val values = graph.edges(r).iterator.map(x => x -> input.rows(row)(column(r, x))).toMap
          if (values.forall { case (x, v) => bound.get(x).forall(_ == v) }) {
            val m = multiplicity(r)(row)
            val (s, p) = ReducedCase.values(r, input.words(row))
            join(i + 1, bound ++ values, element.zip(IndexedSeq(m, m * s, m * p)).map { case (a, b) => a * b })
          }
        }
      }
    join(0, Map.empty, IndexedSeq(1L, 1L, 1L))
    sums.filter(_._2.head > 0).toMap
  }
}

object ReducedCase {

  def draw(seed: Long): ReducedCase = {
    val random = new Random(seed ^ 0x5eed)
    val drawn = shuffled(Generators.draw(seed), new Random(seed))
    val query = drawn.copy(
      inputs = drawn.inputs.map(_.copy(retractable = true)),
      residuals = IndexedSeq.empty
    )
    val density = Seq(0.0, 0.15, 0.3, 0.6, 1.0)(random.nextInt(5))
    val columns = for {
      r <- query.relations.indices
      c <- query.inputs(query.relations(r).input).columns.indices.take(6)
      if !query.relations(r).keys.exists(_._2 == c) && random.nextDouble() < density / 2
    } yield (r, c)
    val attributes = query.graph.attributes.filter(_ => random.nextDouble() < density)
    val requested = attributes ++ columns.indices.map(query.attributes.size + _)
    val plain = ReducedCase(query, requested, columns, IndexedSeq.fill(query.relations.size)(false))
    val once = random.nextInt(5) == 0
    plain.copy(distinct = plain.distinct.map(_ => once || random.nextInt(4) == 0))
  }

  /** A random total through a cycle. */
  def drawTotal(seed: Long): ReducedCase = {
    val drawn = shuffled(Generators.drawTotal(seed), new Random(seed))
    val query = drawn.copy(inputs = drawn.inputs.map(_.copy(retractable = true)), residuals = IndexedSeq.empty)
    val corners = GyoReduction.reduce(query.graph).left.toOption.get.attributes.toIndexedSeq
    val keys = BitSet.fromSpecific(new Random(seed).shuffle(corners).take((seed % 3).toInt))
    ReducedCase(query, keys, IndexedSeq.empty, IndexedSeq.fill(query.relations.size)(false))
  }

  /** The case with the columns of its inputs in a random order. */
  private def shuffled(of: Case, random: Random): Case = {
    val orders = of.inputs.map(i => random.shuffle(i.columns.indices.toIndexedSeq))
    of.copy(
      inputs = of.inputs.zip(orders).map { case (i, order) =>
        i.copy(columns = order.map(i.columns), rows = i.rows.map(row => order.map(row)))
      },
      relations = of.relations.map(r =>
        r.copy(keys = r.keys.map { case (a, c) => a -> orders(r.input).indexOf(c) })
      )
    )
  }

  /** The contribution of a row to the two sums of `numbers`. */
  def values(relation: Int, words: Array[Long]): (Long, Long) = {
    val h = words.foldLeft(relation + 7L)((h, w) => (h ^ w) * 0x9e3779b97f4a7c15L) >>> 60
    (h - 8, if (relation % 2 == 0) h * h else 1L)
  }

  /** Two sums and the number of results. */
  def numbers: Ring = new ExactSums(Array(1, 1))

  final class Values(relation: Int) extends Lift {
    override def multiply(into: Array[Long], arena: TupleArena, row: Int): Unit = {
      val (s, p) = values(relation, (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i)).toArray)
      into(1) *= s
      into(2) *= p
    }
  }
}
