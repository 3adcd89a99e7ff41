package io.joinless.bench

import io.joinless.engine.algebra.{Counts, ExactSums, Ring}
import io.joinless.engine.query.{Hypergraph, ReducedRelation, Reduction}
import io.joinless.engine.reduce.{ComponentDef, ReducedDef}
import io.joinless.engine.tuples.{KeyField, ProjectedField, RowProjection, TupleArena}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, Lift, RelationDef}
import scala.collection.immutable.BitSet

/** A grouped query of benchmarks/queries.py, built from its clauses, and its definition for the
  * engine's package `reduce`.
  *
  * Projected are the group's columns, the column of a COUNT(DISTINCT), and the columns of
  * conditions with `<>`. Columns that are equated are one vertex of the query's hypergraph; a
  * projected column that is equated with none is a vertex of its own. The reduction may project
  * more.
  *
  * As in Spark, a relation stores the columns that the query reads of it after its filters;
  * relations of one stream that read the same columns share their rows ([[layouts]]).
  *
  * @param streams per relation, the stream it reads
  * @param columns per stream, its number of columns
  * @param clauses in the format of `Query.clauses`
  */
final class GroupedQuery(val streams: IndexedSeq[Int], columns: IndexedSeq[Int], clauses: Seq[String]) {
  import GroupedQuery._

  private val words: Seq[(String, IndexedSeq[Int])] = clauses.map { clause =>
    val all = clause.split(' ')
    all.head -> all.tail.map(_.toInt).toIndexedSeq
  }

  private def columnsOf(kind: String): Seq[Column] =
    words.collect { case (`kind`, numbers) => Column(numbers(0), numbers(1)) }

  private def pairs(kind: String): Seq[(Column, Column)] =
    words.collect { case (`kind`, n) => Column(n(0), n(1)) -> Column(n(2), n(3)) }

  private val group = columnsOf("group").toIndexedSeq
  private val distinctOf = columnsOf("distinct").headOption
  private val unequal = pairs("unequal")
  private val below = words.collect { case ("below", n) => (n(0), n(1), n(2).toLong) }
  private val sum = words.collectFirst { case ("sum", n) => n }

  /** The number of columns of a result row. */
  val resultColumns: Int = group.size + words.count { case (kind, _) => Aggregates(kind) }

  /** The aggregate of a group: none, the number of results, the number of different values, or also
    * a sum.
    */
  val aggregate: Aggregate =
    if (resultColumns == group.size) Nothing
    else if (distinctOf.isDefined) DistinctValues
    else if (sum.isDefined) CountAndSum
    else Count

  /** Classes of equated columns, each with its columns; then each other projected column. */
  private val vertices: IndexedSeq[Set[Column]] = {
    val equated = pairs("equal").foldLeft(IndexedSeq.empty[Set[Column]]) { case (classes, (a, b)) =>
      val (these, others) = classes.partition(c => c(a) || c(b))
      others :+ (these.flatten.toSet + a + b)
    }
    val projected = group ++ distinctOf ++ unequal.flatMap { case (a, b) => Seq(a, b) }
    equated ++ projected.distinct.filterNot(c => equated.exists(_(c))).map(Set(_))
  }
  private val attributes = vertices.count(_.size > 1)

  private def vertex(column: Column): Int = vertices.indexWhere(_(column))

  private val graph = Hypergraph(streams.indices.map { r =>
    BitSet.fromSpecific(vertices.indices.filter(vertices(_).exists(_.relation == r)))
  })

  private val requested =
    BitSet.fromSpecific((group ++ distinctOf ++ unequal.flatMap(p => Seq(p._1, p._2))).map(vertex))

  /** Whether results count once. */
  val distinct: Boolean = aggregate == Nothing || aggregate == DistinctValues

  val reduction: Reduction = Reduction.best(graph, requested, distinct).fold(core => sys.error(core.toString), identity)

  /** Whether the rows of the top's results are those of the query. */
  val projectsRequested: Boolean = reduction.output == requested && unequal.isEmpty

  val isOneComponent: Boolean = reduction.components.size == 1

  val ring: Ring = if (aggregate == CountAndSum) new ExactSums(Array(ExactSums.words(Bits))) else Counts

  private val layoutOf: IndexedSeq[Layout] = streams.indices.map { r =>
    val read = vertices.flatten.collect { case Column(`r`, c) => c } ++
      sum.filter(_(0) == r).toSeq.flatMap(_ => 0 until columns(streams(r)))
    Layout(streams(r), read.distinct.sorted)
  }

  /** The stored columns: of which stream, and which. */
  val layouts: IndexedSeq[Layout] = layoutOf.distinct

  private def at(relation: Int, vertex: Int): Int =
    layoutOf(relation).columns.indexOf(vertices(vertex).collectFirst { case Column(`relation`, c) => c }.get)

  /** The projected vertices of a component, in the order of its columns. */
  private def projected(component: ReducedRelation): IndexedSeq[Int] =
    ComponentDef.inOrder(component.tree, component.projected)(at)

  def definition: ReducedDef = {
    val block = BlockDef(
      layouts.map(l => InputDef(l.columns.size, RowProjection.fixedWords(l.columns.size), retractable = true)),
      IndexedSeq.fill(vertices.size)(AttributeDef(nullSafe = false)),
      streams.indices.map { r =>
        val keys = graph.edges(r).toIndexedSeq.filter(_ < attributes)
        RelationDef(layouts.indexOf(layoutOf(r)), keys.map(x => x -> KeyField(at(r, x), variable = false)))
      },
      reduction.components.head.tree
    )
    val components = reduction.components.map { c =>
      val fields = ComponentDef.atRoot(c.tree).map { r =>
        r -> projected(c).map(x => ProjectedField(at(r, x), variable = false))
      }
      ComponentDef(c.tree, fields.toMap, distinct)
    }
    val top = BlockDef(
      reduction.components.map(c =>
        InputDef(c.projected.size, RowProjection.fixedWords(c.projected.size), retractable = true)
      ),
      block.attributes,
      reduction.components.indices.map { c =>
        RelationDef(
          c,
          projected(reduction.components(c)).zipWithIndex.map { case (x, i) => x -> KeyField(i, false) }
        )
      },
      reduction.top
    )
    val lifts = streams.indices.map(r => sum.filter(_(0) == r).map(n => new Form(n(1).toLong, n.drop(2).map(_.toLong))))
    ReducedDef(block, components, top, ring, lifts)
  }

  /** The relations (bit set) of a layout that contain the row of its stream which begins at
    * `start`.
    */
  def roles(layout: Int, values: Array[Long], start: Int): Long = {
    var found = 0L
    var i = 0
    while (i < relationsOf(layout).length) {
      val r = relationsOf(layout)(i)
      if (conditions(r).accept(values, start)) found |= 1L << r
      i += 1
    }
    found
  }

  private val relationsOf: Array[Array[Int]] =
    layouts.map(layout => streams.indices.filter(layoutOf(_) == layout).toArray).toArray

  private val conditions: Array[Ranges] = streams.indices.map { r =>
    val smaller = below.collect { case (`r`, c, limit) => (c, RowBatch.Null + 1, limit - 1) }
    val nulls = columnsOf("null").filter(_.relation == r).map(x => (x.column, RowBatch.Null, RowBatch.Null))
    new Ranges(smaller ++ nulls)
  }.toArray

  /** The location of a projected column in a result of the top: its component, and the column of
    * the component's projected row.
    */
  private def location(column: Column): Location = {
    val x = vertex(column)
    val c = reduction.components.indexWhere(_.projected(x))
    Location(c, projected(reduction.components(c)).indexOf(x))
  }

  /** The group's columns, and behind them those of the values to be counted as distinct. */
  val keys: IndexedSeq[Location] = (group ++ distinctOf).map(location)
  val groupColumns: Int = group.size
  val differing: Seq[(Location, Location)] = unequal.map { case (a, b) => (location(a), location(b)) }
}

object GroupedQuery {
  private val Aggregates = Set("count", "sum", "distinct")
  private val Bits = 32 // of a summand

  final case class Column(relation: Int, column: Int)
  final case class Layout(stream: Int, columns: IndexedSeq[Int])
  final case class Location(component: Int, column: Int)

  sealed trait Aggregate
  case object Nothing extends Aggregate
  case object Count extends Aggregate
  case object CountAndSum extends Aggregate
  case object DistinctValues extends Aggregate

  /** A filter on rows of a stream: columns, and the bounds of each. */
  final private class Ranges(of: Seq[(Int, Long, Long)]) {
    private[this] val columns = of.map(_._1).toArray
    private[this] val lowest = of.map(_._2).toArray
    private[this] val highest = of.map(_._3).toArray

    /** Whether the row that begins at `start` passes. */
    def accept(values: Array[Long], start: Int): Boolean = {
      var i = 0
      while (i < columns.length) {
        val value = values(start + columns(i))
        if (value < lowest(i) || value > highest(i)) return false
        i += 1
      }
      true
    }
  }

  /** (Σ factor · column) mod modulus. */
  final private class Form(modulus: Long, factors: IndexedSeq[Long]) extends Lift {
    private[this] val by = factors.toArray
    private[this] val nullWords = (by.length + 63) / 64

    override def multiply(into: Array[Long], arena: TupleArena, row: Int): Unit = {
      val page = arena.page(row)
      val start = arena.start(row) + nullWords
      var form = 0L
      var c = 0
      while (c < by.length) { form += by(c) * page(start + c); c += 1 }
      val value = form % modulus
      // the sum is not negative and has two words
      val low = into(1)
      into(2) = into(2) * value + Math.multiplyHigh(low, value) + (if (low < 0) value else 0L)
      into(1) = low * value
    }
  }
}
