package io.joinless.bench

import scala.collection.immutable.BitSet
import scala.util.Random

import io.joinless.engine.query.{BagNode, GeneralizedNode, Hypergraph, JoinTree, RelationNode, TreeSearch}
import io.joinless.engine.tuples.KeyField

/** A random join of two to six relations, and a stream for it: a query that nobody chose.
  *
  * Relations share inputs or do not. They join on one or two columns, in trees of any form. Rows
  * have two to eight BIGINTs in any order, and results project some of them. Values are skewed, so
  * that some keys have many rows; a row has one or two matches on average. In every other shape
  * rows are deleted after four batches. At the end there are at least a thousand results, and at
  * most a million for 30,000 rows, or proportionally more for more rows.
  *
  * @param inputs per input the number of its columns
  * @param relations per relation its input, the column of each of its attributes, and its projected
  *     columns
  * @param tree the engine's choice
  * @param batches per batch changes: an input, a weight, and the row
  */
final case class Shape(
    inputs: IndexedSeq[Int],
    relations: IndexedSeq[ShapeRelation],
    tree: JoinTree,
    deletes: Boolean,
    batches: IndexedSeq[IndexedSeq[ShapeChange]]
) {
  def attributes: Int = relations.flatMap(_.keys.map(_._1)).max + 1

  /** The number of inserted rows. */
  def rows: Int = batches.map(_.count(_.weight > 0)).sum

  /** The relations (bit set) of an input. */
  def roles(input: Int): Long = relations.indices.filter(relations(_).input == input).map(1L << _).sum
}

final case class ShapeRelation(input: Int, keys: IndexedSeq[(Int, KeyField)], projected: IndexedSeq[Int])

final case class ShapeChange(input: Int, weight: Int, row: Array[Long])

object Shape {
  private val Batches = 20
  private val Window = 4

  /** The shape of a seed and a number of inserted rows, always the same. */
  def apply(seed: Int, rows: Int): Shape = {
    val random = new Random(seed * 7919L + 1)
    Iterator.continually(draw(random, rows, deletes = seed % 2 == 1)).collectFirst {
      case Some(shape) if { val n = results(shape); n >= 1000 && n <= 1000000.0 * rows / 30000 } => shape
    }.get
  }

  /** The number of results at the end. */
  private def results(shape: Shape): Double = {
    val rows =
      shape.batches.takeRight(if (shape.deletes) Window else Batches).flatten.filter(_.weight > 0).groupBy(_.input)

    /** For each key towards the parent, the number of combinations of the rows at and below the
      * node.
      */
    def below(node: JoinTree, separator: BitSet): Map[Seq[Long], Double] = {
      val children = node.children.map(child => (node.separator(child), below(child, node.separator(child))))
      def product(value: Int => Long) = children.map { case (keys, counts) =>
        counts.getOrElse(keys.toSeq.map(value), 0.0)
      }.product
      node match {
        case RelationNode(r, _, _) =>
          val column = shape.relations(r).keys.map { case (a, field) => a -> field.ordinal }.toMap
          rows(shape.relations(r).input).groupMapReduce(c => separator.toSeq.map(a => c.row(column(a))))(c =>
            product(a => c.row(column(a)))
          )(_ + _)
        case GeneralizedNode(shared, _) =>
          val keys = children.head._2.keys.toSeq
          val attributes = shared.toSeq
          keys.groupMapReduce(k => separator.toSeq.map(a => k(attributes.indexOf(a))))(k =>
            product(a => k(attributes.indexOf(a)))
          )(_ + _)
        case bag: BagNode => throw new IllegalArgumentException(s"shapes have trees, and $bag is none")
      }
    }
    below(shape.tree, BitSet.empty).values.sum
  }

  /** A random shape; None if relations need more columns than their inputs have, or form a cycle.
    */
  private def draw(random: Random, rows: Int, deletes: Boolean): Option[Shape] = {
    val count = 2 + random.nextInt(5)
    val inputs = IndexedSeq.fill(1 + random.nextInt(count))(2 + random.nextInt(7))
    val inputOf = IndexedSeq.tabulate(count)(r => if (r < inputs.size) r else random.nextInt(inputs.size))
    val keys = Array.fill(count)(Map.empty[Int, Int]) // attribute -> column
    def columnOf(relation: Int, attribute: Int): Option[Int] = keys(relation).get(attribute).orElse {
      val free = (0 until inputs(inputOf(relation))).filterNot(keys(relation).values.toSet)
      if (free.isEmpty) None
      else {
        val column = free(random.nextInt(free.size))
        keys(relation) += attribute -> column
        Some(column)
      }
    }
    var attributes = 0
    val joins = for {
      r <- 1 until count
      other = random.nextInt(r)
      again = if (random.nextInt(3) == 0) random.shuffle(keys(other).keys.toSeq.sorted).take(1) else Nil
      attribute <- again ++ Seq.fill(if (again.isEmpty) 1 + random.nextInt(5) / 4 else 0) {
        attributes += 1; attributes - 1
      }
      relation <- Seq(other, r)
    } yield columnOf(relation, attribute)
    val graph = Hypergraph(keys.toIndexedSeq.map(k => BitSet.fromSpecific(k.keys)))
    if (joins.contains(None)) None
    else TreeSearch.best(graph).toOption.map { tree =>
      val relations = keys.indices.map { r =>
        val projected = random.shuffle((0 until inputs(inputOf(r))).toIndexedSeq)
        val fields = keys(r).toIndexedSeq.sortBy(_._1).map { case (a, c) => a -> KeyField(c, variable = false) }
        ShapeRelation(inputOf(r), fields, projected.take(random.nextInt(math.min(4, projected.size + 1))))
      }
      val matches = if (count <= 4) 2.0 else 1.2
      Shape(inputs, relations, tree, deletes, stream(random, rows, inputs, relations, matches, deletes))
    }
  }

  private def stream(
      random: Random,
      rows: Int,
      inputs: IndexedSeq[Int],
      relations: IndexedSeq[ShapeRelation],
      matches: Double,
      deletes: Boolean
  ): IndexedSeq[IndexedSeq[ShapeChange]] = {
    val perBatch = rows / Batches / inputs.size
    val present = perBatch * (if (deletes) Window else Batches)
    // of two columns in one key the second has few values, and the first so many fewer
    val domains = inputs.map(columns => Array.fill(columns)((present / matches).toLong))
    for (r <- relations if r.keys.size > 1; (_, field) <- r.keys.takeRight(1)) domains(r.input)(field.ordinal) = 8
    def value(input: Int, column: Int) = {
      val u = random.nextDouble()
      (domains(input)(column) * u * math.sqrt(u)).toLong
    }
    val inserted = IndexedSeq.fill(Batches) {
      for (i <- inputs.indices; _ <- 0 until perBatch) yield ShapeChange(i, 1, Array.tabulate(inputs(i))(value(i, _)))
    }
    inserted.indices.map { b =>
      val deleted = if (deletes && b >= Window) inserted(b - Window).map(_.copy(weight = -1)) else IndexedSeq.empty
      deleted ++ inserted(b)
    }
  }
}
