package io.joinless.engine.query

import org.scalacheck.Gen
import scala.collection.immutable.BitSet
import scala.util.Random

/** Random queries. Each is a function of the seed that ScalaCheck prints with a failure. */
object HypergraphGenerators {

  /** Any graph: mostly small arities, repeated and empty edges included. */
  def any(maxRelations: Int, attributes: Int): Gen[Hypergraph] = Gen.long.map { seed =>
    val random = new Random(seed)
    val relations = 1 + random.nextInt(maxRelations)
    Hypergraph(IndexedSeq.fill(relations)(BitSet.fromSpecific(Seq.fill(random.nextInt(4))(random.nextInt(attributes)))))
  }

  /** Any acyclic graph: every attribute is given to the nodes of a random subtree of a random tree.
    */
  def acyclic(maxRelations: Int, attributes: Int): Gen[Hypergraph] =
    Gen.long.map(seed => drawAcyclic(new Random(seed), maxRelations, attributes))

  def drawAcyclic(random: Random, maxRelations: Int, attributes: Int): Hypergraph = {
    val relations = 1 + random.nextInt(maxRelations)
    val parent = IndexedSeq.tabulate(relations)(r => if (r == 0) -1 else random.nextInt(r))
    val occurrences = IndexedSeq.fill(random.nextInt(attributes + 1)) {
      val stop = random.nextDouble()
      var subtree = BitSet(random.nextInt(relations))
      while (subtree.size < relations && random.nextDouble() > stop) {
        val border = (0 until relations).filter { r =>
          !subtree(r) && (subtree(parent(r)) || subtree.exists(parent(_) == r))
        }
        subtree += border(random.nextInt(border.size))
      }
      subtree
    }
    val order = random.shuffle(IndexedSeq.range(0, relations))
    Hypergraph(order.map(r => BitSet.fromSpecific(occurrences.indices.filter(occurrences(_)(r)))))
  }

  /** A graph with output attributes: none, all or some. */
  def withOutput(graphs: Gen[Hypergraph]): Gen[(Hypergraph, BitSet)] =
    for {
      graph <- graphs
      seed <- Gen.long
    } yield {
      val random = new Random(seed)
      val density = Seq(0.0, 0.3, 0.6, 0.6, 1.0)(random.nextInt(5))
      graph -> graph.attributes.filter(_ => random.nextDouble() < density)
    }
}
