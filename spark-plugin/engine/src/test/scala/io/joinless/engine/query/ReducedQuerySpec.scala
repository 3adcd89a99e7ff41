package io.joinless.engine.query

import io.joinless.engine.query.{HypergraphGenerators => Random}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import scala.collection.immutable.BitSet

/** Tests of the attributes to which a query is reduced, and of the trees. */
class ReducedQuerySpec extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def best(graph: Hypergraph, output: BitSet): Reduction =
    Reduction.best(graph, output).fold(core => fail(core.toString), identity)

  test(
    "a free-connex query projects what was requested, any other the fewest attributes more that make it free-connex"
  ) {
    var (more, several) = (0, 0)
    forAll(Random.withOutput(Random.acyclic(5, 6)), minSuccessful(3000)) { case (graph, output) =>
      val found = best(graph, output)
      val added = found.output &~ output
      assert(output.subsetOf(found.output) && FreeConnex.isFreeConnex(graph, found.output))
      if (FreeConnex.isFreeConnex(graph, output)) assert(added.isEmpty)
      else {
        more += 1
        val fewer = graph.attributes.toIndexedSeq.filterNot(output).combinations(added.size - 1)
        assert(!fewer.exists(some => FreeConnex.isFreeConnex(graph, output ++ some)))
      }
      if (found.components.exists(_.relations.size > 1)) several += 1
    }
    assert(more > 50 && several > 500)
  }

  test(
    "trees: each relation in one component, whose root has what the component projects; the top joins what they project"
  ) {
    forAll(Random.withOutput(Random.acyclic(6, 6)), minSuccessful(3000)) { case (graph, output) =>
      val found = best(graph, output)
      assert(found.components.flatMap(_.relations).sorted === graph.edges.indices)
      for (c <- found.components) {
        assert(
          c.projected.subsetOf(c.tree.attributes) && c.projected === (graph.attributesOf(c.relations) & found.output)
        )
        val relations = c.relations.toIndexedSeq
        assert(JoinTree.violations(renumbered(c.tree, relations), Hypergraph(relations.map(graph.edges))).isEmpty)
      }
      assert(JoinTree.violations(found.top, Hypergraph(found.components.map(_.projected))).isEmpty)
    }
  }

  test("the total over a cycle of three: a component per side, with what hangs on it; other cyclic queries have none") {
    val all = BitSet.empty
    val triangle = ShapesOfQueries.cycle(3)
    val found = best(triangle, all)
    assert(found.top.isInstanceOf[BagNode] && found.components.map(_.projected) == triangle.edges)
    // a row per vertex 0, one per side {0, 1}, and a path from vertex 2
    val further = IndexedSeq(BitSet(0), BitSet(0, 1), BitSet(2, 3), BitSet(3, 4))
    val hung = best(Hypergraph(triangle.edges ++ further), all)
    assert(hung.components.flatMap(_.relations).sorted == (0 until 7))
    assert(hung.components.map(_.projected).toSet == triangle.edges.toSet)
    for (c <- hung.components) {
      val relations = c.relations.toIndexedSeq
      assert(
        JoinTree.violations(renumbered(c.tree, relations), Hypergraph(relations.map(triangle.edges ++ further))).isEmpty
      )
    }
    def refused(graph: Hypergraph, output: BitSet = all, once: Boolean = false) =
      Reduction.best(graph, output, once).isLeft
    for (keys <- Seq(BitSet(0), BitSet(1, 2))) assert(best(triangle, keys).top == found.top)
    assert(refused(triangle, output = BitSet(0, 1, 2)) && refused(triangle, once = true))
    assert(refused(Hypergraph(triangle.edges :+ BitSet(2, 3)), output = BitSet(3)))
    assert(refused(ShapesOfQueries.cycle(4)) && refused(ShapesOfQueries.clique(4)) && refused(ShapesOfQueries.dumbbell))
    assert(refused(Hypergraph(triangle.edges.map(_ + 5)))) // an attribute of all three
    assert(refused(Hypergraph(triangle.edges :+ BitSet(7)))) // a cross product
  }

  test("what counts once: a component whose columns another one projects is below that one's root") {
    var absorbed = 0
    forAll(Random.withOutput(Random.acyclic(6, 6)), minSuccessful(3000)) { case (graph, output) =>
      val apart = best(graph, output)
      val found = Reduction.best(graph, output, once = true).fold(core => fail(core.toString), identity)
      if (found.components.size < apart.components.size) absorbed += 1
      assert(found.components.flatMap(_.relations).sorted === graph.edges.indices)
      for (c <- found.components) {
        val relations = c.relations.toIndexedSeq
        assert(
          c.projected.subsetOf(c.tree.attributes) && c.projected === (graph.attributesOf(c.relations) & found.output)
        )
        assert(JoinTree.violations(renumbered(c.tree, relations), Hypergraph(relations.map(graph.edges))).isEmpty)
      }
      assert(JoinTree.violations(found.top, Hypergraph(found.components.map(_.projected))).isEmpty)
      for (part <- found.components if part.projected.nonEmpty; whole <- found.components)
        assert(part.projected == whole.projected || !part.projected.subsetOf(whole.projected) || meetsInMore(part))
    }
    assert(absorbed > 300)
  }

  /** Whether the component's relations join on attributes that it does not project; such a node
    * cannot be below a relation.
    */
  private def meetsInMore(component: ReducedRelation): Boolean = component.tree match {
    case GeneralizedNode(attributes, children) =>
      attributes != component.projected || children.exists(_.isInstanceOf[GeneralizedNode])
    case _ => false
  }

  private def renumbered(tree: JoinTree, relations: IndexedSeq[Int]): JoinTree = tree match {
    case RelationNode(r, attributes, children) =>
      RelationNode(relations.indexOf(r), attributes, children.map(renumbered(_, relations)))
    case GeneralizedNode(attributes, children) => GeneralizedNode(attributes, children.map(renumbered(_, relations)))
    case bag: BagNode => fail(s"counts need views, and $bag has none")
  }

  test("named queries: components and heights") {
    import ShapesOfQueries._
    def projections(r: Reduction) = r.components.map(c => (c.relations, c.projected))
    val middle = best(line(3), BitSet(1))
    // two with the same projection
    assert(projections(middle) === IndexedSeq((BitSet(0, 1, 2), BitSet(1))) && middle.height === 2)
    assert(middle.components.head.tree.notation("e" + _, "x" + _) === "[x1]{e0, e1·e2}")
    val nested = best(Hypergraph.of(Seq(0, 1), Seq(0, 2), Seq(0, 3), Seq(3, 4)), BitSet(0, 4))
    assert(nested.components.exists(_.relations === BitSet(0, 1)) && nested.components.size === nested.components.map(
      _.projected
    ).distinct.size)
    val count = best(star(4), BitSet.empty)
    assert(projections(count) === IndexedSeq((BitSet(0, 1, 2, 3), BitSet.empty)) && count.height === 1)
    assert(best(star(4), BitSet(0)).height === 1)
    val ends = best(line(2), BitSet(0, 2)) // not free-connex: the middle is projected, too
    assert(ends.output === BitSet(0, 1, 2) && ends.components.size === 2 && ends.height === 1)
    // free-connex, and without a tree of CROWN's definitions (A7): c=0 f=1 e=2 d=3 a=4, only e is
    // not projected
    val gap = best(Hypergraph.of(Seq(0, 1), Seq(1, 2, 3), Seq(3, 4)), BitSet(0, 1, 3, 4))
    assert(gap.output === BitSet(0, 1, 3, 4) && gap.height === 2)
    assert(gap.components.map(_.projected) === IndexedSeq(BitSet(0, 1), BitSet(1, 3), BitSet(3, 4)))
    // SNB4: tag=0 message=1 creator=2; name=3 and message are projected, so tag is, too
    val network = Hypergraph.of(Seq(0, 3), Seq(0, 1), Seq(1, 2), Seq(2))
    val pairs = Reduction.best(network, BitSet(1, 3), once = true).fold(core => fail(core.toString), identity)
    assert(projections(pairs) === IndexedSeq((BitSet(0), BitSet(0, 3)), (BitSet(1, 2, 3), BitSet(0, 1))))
    assert(pairs.components(1).tree.notation("e" + _, "x" + _) === "e1·e2·e3")
    // if results are counted, components stay separate
    assert(projections(best(network, BitSet(1, 3))).size === 3)
    assert(Reduction.best(cycle(4), BitSet(0)).isLeft)
  }

  test("a query of many relations is reduced at once") {
    val long = ShapesOfQueries.line(30)
    val start = System.nanoTime()
    assert(best(long, BitSet(0, 30)).output.size === 31)
    assert((System.nanoTime() - start) / 1000000 < 5000)
  }
}
