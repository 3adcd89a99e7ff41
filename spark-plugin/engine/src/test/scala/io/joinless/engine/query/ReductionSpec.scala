package io.joinless.engine.query

import io.joinless.engine.query.{HypergraphGenerators => Random}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import scala.collection.immutable.BitSet

/** GYO, free-connex and q-hierarchical against their definitions. */
class ReductionSpec extends AnyFunSuite with ScalaCheckPropertyChecks {

  test("oracle_acyclic: a graph is acyclic iff one of all spanning trees is a join tree") {
    val seen = scala.collection.mutable.HashSet.empty[Boolean]
    forAll(Random.any(5, 5), minSuccessful(4000)) { graph =>
      val acyclic = SpanningTrees.of(graph.size).exists(isJoinTree(graph, _))
      seen += acyclic
      assert(GyoReduction.isAcyclic(graph) === acyclic)
    }
    assert(seen.size === 2)
  }

  test("acyclic: the neighbours found are a join tree") {
    forAll(Random.acyclic(8, 8), minSuccessful(2000)) { graph =>
      GyoReduction.reduce(graph) match {
        case Right(neighbours) => assert(isJoinTree(graph, neighbours))
        case Left(core) => fail(s"acyclic by construction, but $core")
      }
    }
  }

  test("cyclic: nothing can be taken away from the core, and everything around it can") {
    var cyclic = 0
    forAll(Random.any(8, 6), minSuccessful(2000)) { graph =>
      GyoReduction.reduce(graph).left.foreach { core =>
        cyclic += 1
        val inner = Hypergraph(core.relations.toIndexedSeq.map(graph.edges(_) & core.attributes))
        assert(core.attributes.forall(inner.at(_).size >= 2))
        assert(inner.edges.combinations(2).forall(p => !p(0).subsetOf(p(1)) && !p(1).subsetOf(p(0))))
        assert(GyoReduction.isAcyclic(graph + core.attributes))
      }
    }
    assert(cyclic > 100)
  }

  test("cyclic: the core names the cycle") {
    import ShapesOfQueries._
    assert(GyoReduction.reduce(cycle(3)) === Left(CyclicCore(BitSet(0, 1, 2), BitSet(0, 1, 2))))
    assert(GyoReduction.reduce(cycle(4)) === Left(CyclicCore(BitSet(0, 1, 2, 3), BitSet(0, 1, 2, 3))))
    assert(GyoReduction.reduce(lollipop) === Left(CyclicCore(BitSet(0, 1, 2), BitSet(0, 1, 2))))
    assert(GyoReduction.reduce(dumbbell).left.map(_.relations) === Left(BitSet(0, 1, 2, 3, 4, 5, 6)))
    assert(GyoReduction.isAcyclic(cycle(3) + BitSet(0, 1, 2)))
  }

  test("oracle_free_connex: as if acyclic with and without an edge over the output") {
    var both = 0
    forAll(Random.withOutput(Random.any(5, 6)), minSuccessful(20000)) { case (graph, output) =>
      val expected = GyoReduction.isAcyclic(graph) && GyoReduction.isAcyclic(graph + output)
      if (expected) both += 1
      assert(FreeConnex.isFreeConnex(graph, output) === expected)
    }
    assert(both > 2000)
  }

  test("classes: each is part of the next") {
    val seen = scala.collection.mutable.HashSet.empty[QueryClass]
    forAll(Random.withOutput(Random.any(5, 6)), minSuccessful(5000)) { case (graph, output) =>
      val hierarchical = QHierarchical.isQHierarchical(graph, output)
      val connex = FreeConnex.isFreeConnex(graph, output)
      assert(!hierarchical || connex)
      assert(!connex || GyoReduction.isAcyclic(graph))
      seen += QueryClass.of(graph, output)
    }
    assert(seen.size === 4)
  }

  test("classes of the named queries") {
    import ShapesOfQueries._
    assert(QueryClass.of(line(2)) === QueryClass.QHierarchical)
    assert(QueryClass.of(line(2), BitSet(0)) === QueryClass.FreeConnex)
    assert(QueryClass.of(line(2), BitSet(0, 2)) === QueryClass.Acyclic)
    assert(QueryClass.of(line(3)) === QueryClass.FreeConnex)
    assert(QueryClass.of(line(3), BitSet(0, 3)) === QueryClass.Acyclic)
    assert(QueryClass.of(star(4)) === QueryClass.QHierarchical)
    assert(QueryClass.of(star(4), BitSet(0)) === QueryClass.QHierarchical)
    assert(QueryClass.of(product(3)) === QueryClass.QHierarchical)
    assert(QueryClass.of(cycle(3)) === QueryClass.Cyclic)
    // Free-connex, but no tree of CROWN's definitions 3.1 and 3.2 (algorithms, A7 and the end): c=0
    // f=1 e=2 d=3 a=4.
    assert(
      QueryClass.of(Hypergraph.of(Seq(0, 1), Seq(1, 2, 3), Seq(3, 4)), BitSet(0, 1, 3, 4)) === QueryClass.FreeConnex
    )
  }

  test("components: linked outside the cut, lowest relation first") {
    val line = ShapesOfQueries.line(4)
    assert(line.components(line.relations, BitSet(2)) === IndexedSeq(BitSet(0, 1), BitSet(2, 3)))
    assert(line.components(BitSet(0, 2, 3), BitSet.empty) === IndexedSeq(BitSet(0), BitSet(2, 3)))
    assert(line.components(line.relations, BitSet(2, 3)) === IndexedSeq(BitSet(0, 1), BitSet(2), BitSet(3)))
    assert(ShapesOfQueries.product(2).components === IndexedSeq(BitSet(0), BitSet(1)))
  }

  private def isJoinTree(graph: Hypergraph, links: IndexedSeq[(Int, Int)]): Boolean =
    links.size == graph.size - 1 && graph.attributes.forall { x =>
      val at = graph.at(x)
      links.count { case (a, b) => at(a) && at(b) } == at.size - 1
    } && Hypergraph(graph.edges.indices.map(r => BitSet.fromSpecific(links.indices.filter(incident(links, r)))))
      .components.size == 1

  private def incident(links: IndexedSeq[(Int, Int)], relation: Int)(link: Int): Boolean =
    links(link)._1 == relation || links(link)._2 == relation
}

/** All labelled trees over 0 … n − 1, from their Prüfer codes. */
object SpanningTrees {

  def of(n: Int): Iterator[IndexedSeq[(Int, Int)]] =
    if (n == 1) Iterator(IndexedSeq.empty)
    else codes(n, n - 2).map(decode(n, _))

  private def codes(n: Int, length: Int): Iterator[List[Int]] =
    if (length == 0) Iterator(Nil) else codes(n, length - 1).flatMap(rest => Iterator.range(0, n).map(_ :: rest))

  private def decode(n: Int, code: List[Int]): IndexedSeq[(Int, Int)] = {
    val degree = Array.tabulate(n)(v => 1 + code.count(_ == v))
    val links = code.toIndexedSeq.map { v =>
      val leaf = degree.indexOf(1)
      degree(leaf) -= 1
      degree(v) -= 1
      (leaf, v)
    }
    links :+ ((degree.indexOf(1), degree.lastIndexOf(1)))
  }
}
