package io.joinless.engine.query

import io.joinless.engine.query.{HypergraphGenerators => Random}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import scala.collection.immutable.BitSet

/** The join-tree search (algorithms A8): the trees of known queries in rows mode, and optimality
  * against all trees.
  */
class TreeSearchSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  import ShapesOfQueries._

  test("named queries: tree, height and cost") {
    expect(line(1), "G1", 1, 0)
    expect(line(2), "[B]{G1, G2}", 1, 0)
    expect(line(3), "[B]{G1, G2·G3}", 2, 1)
    expect(line(4), "[C]{G2·G1, G3·G4}", 2, 2)
    expect(line(5), "[C]{G2·G1, G3·G4·G5}", 3, 4)
    expect(star(4), "[A]{G1, G2, G3, G4}", 1, 0)
    expect(comb, "[B]{G1·G4, G2·G3·G5}", 3, 4)
    expect(bushy, "[A,B]{G1, G2·G3, G4·G5}", 2, 2)
    expect(snowflake, "[A]{G1{G3·G6, G4}, G2·G5}", 3, 5)
    expect(equal(2), "[A,B]{G1, G2}", 1, 0)
    expect(product(3), "[]{G1, G2, G3}", 1, 0)
    expect(Hypergraph.of(Seq(0, 1), Seq(2, 3), Seq(1, 4), Seq(3)), "[]{[B]{G1, G3}, [D]{G2, G4}}", 1, 0)
    // Nested generalized nodes: q-hierarchical with two levels of attributes.
    expect(
      Hypergraph.of(Seq(0), Seq(0, 1), Seq(0, 1, 2), Seq(0, 3), Seq(0, 3)),
      "[A]{G1, [A,B]{G2, G3}, [A,D]{G4, G5}}",
      1,
      0
    )
    // R(B,C) S(B,C) T(B) U(C): below [B,C], U has no level of its own, and [C] cannot be above with
    // [B].
    expect(Hypergraph.of(Seq(1, 2), Seq(1, 2), Seq(1), Seq(2)), "[B]{[B,C]{G1·G4, G2}, G3}", 2, 1)
    // One bag per triangle of the dumbbell, and the edge between them.
    expect(Hypergraph.of(Seq(0, 1, 2), Seq(2, 3), Seq(3, 4, 5)), "[C]{G1, G2·G3}", 2, 1)
    // SNB Q2 as coded: tag(T), message(M,I), message_tag(M,T), knows1(B), knows2(B,I); Q3: person
    // and message at I.
    expect(Hypergraph.of(Seq(0), Seq(1, 2), Seq(0, 1), Seq(3), Seq(3, 2)), "[B]{G3·G1, G2·G5·G4}", 3, 4)
    expect(Hypergraph.of(Seq(0), Seq(0), Seq(1), Seq(0, 1)), "[A]{G1, G2, G4·G3}", 2, 1)
  }

  test("cyclic queries are refused with their core") {
    assert(TreeSearch.best(cycle(3)) === Left(CyclicCore(BitSet(0, 1, 2), BitSet(0, 1, 2))))
    assert(TreeSearch.best(lollipop).left.map(_.relations) === Left(BitSet(0, 1, 2)))
  }

  test("sizes: what changes often is near the root, what never changes sinks") {
    assert(rendered(line(3), IndexedSeq(1.0, 1.0, 5.0)) === "[C]{G2·G1, G3}")
    assert(rendered(line(3), IndexedSeq(5.0, 1.0, 1.0)) === "[B]{G1, G2·G3}")
    assert(rendered(line(5), IndexedSeq(0.0, 0.0, 1.0, 1.0, 1.0)) === "[D]{G3·G2·G1, G4·G5}")
  }

  test("oracle_optimal: no join tree is better") {
    val random = Gen.oneOf(Random.acyclic(4, 5), Random.acyclic(3, 6))
    forAll(random, Gen.long, minSuccessful(1500)) { (graph, seed) =>
      val draw = new scala.util.Random(seed)
      val sizes = IndexedSeq.fill(graph.size)(if (draw.nextBoolean()) 1.0 else draw.nextInt(4).toDouble)
      // If moving a relation down is free, the search does not minimize the number of generalized
      // nodes.
      val criteria = if (sizes.contains(0.0)) 2 else 3 + graph.size
      val best = AllTrees.of(graph).map(judge(_, sizes)).min(Ordering.Implicits.seqOrdering[IndexedSeq, Double])
      assert(judge(found(graph, sizes), sizes).take(criteria) === best.take(criteria))
    }
  }

  test("oracle_optimal: five relations") {
    forAll(Random.acyclic(5, 4), minSuccessful(60)) { graph =>
      val sizes = IndexedSeq.fill(graph.size)(1.0)
      val best = AllTrees.of(graph).map(judge(_, sizes)).min(Ordering.Implicits.seqOrdering[IndexedSeq, Double])
      assert(judge(found(graph, sizes), sizes) === best)
    }
  }

  test("oracle_separators: all join trees of a query have the same keys (A71)") {
    val random = Gen.oneOf(Random.acyclic(4, 5), Random.acyclic(3, 6))
    var several = 0
    forAll(random, minSuccessful(500)) { graph =>
      val keys = AllTrees.of(graph).map { tree =>
        tree.edges.map { case (parent, child) => parent.separator(child) }.filter(_.nonEmpty).toSet
      }.toSeq
      if (keys.size > 1 && keys.head.nonEmpty) several += 1
      assert(keys.distinct.size === 1)
    }
    assert(several > 200)
  }

  test("height 1 iff q-hierarchical") {
    var flat = 0
    forAll(Random.acyclic(6, 6), minSuccessful(20000)) { graph =>
      val hierarchical = QHierarchical.isHierarchical(graph)
      if (hierarchical && graph.size > 1) flat += 1
      assert((found(graph).height == 1) === hierarchical)
    }
    assert(flat > 2000)
  }

  test("every tree found is a join tree, and the same one again") {
    forAll(Random.acyclic(9, 9), minSuccessful(3000)) { graph =>
      val tree = found(graph)
      assert(JoinTree.violations(tree, graph) === IndexedSeq.empty)
      assert(found(Hypergraph(graph.edges.map(e => BitSet.fromSpecific(e.toSeq.reverse)))) === tree)
    }
  }

  test("a cyclic query has no join tree") {
    forAll(Random.any(4, 4), minSuccessful(500)) { graph =>
      assert(TreeSearch.best(graph).isRight === AllTrees.of(graph).nonEmpty)
    }
  }

  test("work: twelve relations stay far below the bound") {
    val graphs = Seq(line(12), star(12), equal(12), product(12), comb12, chainOfSets(12), fullLine(12))
    graphs.foreach { graph =>
      val result = search(graph, TreeSearch.WorkBound)
      info(s"${result.tree.notation(r => s"G${r + 1}", x => s"x$x")}: ${result.work} candidates")
      assert(result.exact && result.work <= 20000)
    }
    forAll(Random.acyclic(12, 14), minSuccessful(300)) { graph => assert(search(graph, 20000).exact) }
  }

  test("work: beyond the bound any join tree with a good root") {
    assert(search(line(7), 3).tree.notation(name, attribute) === "G4{G3·G2·G1, G5·G6·G7}")
    assert(!search(line(7), 3).exact)
    forAll(Random.acyclic(14, 14), minSuccessful(500)) { graph =>
      val result = search(graph, 0)
      assert(JoinTree.violations(result.tree, graph) === IndexedSeq.empty)
      assert(result.tree.height >= found(graph).height)
    }
  }

  test("violations: each rule of a join tree is checked") {
    val graph = line(3)
    def relation(r: Int, below: JoinTree*) = RelationNode(r, graph.edges(r), below.toIndexedSeq)
    def meet(x: Int*)(below: JoinTree*) = GeneralizedNode(BitSet(x: _*), below.toIndexedSeq)
    def count(tree: JoinTree): Int = JoinTree.violations(tree, graph).size
    assert(count(relation(1, relation(0), relation(2))) === 0)
    assert(count(relation(1, relation(0))) === 1)
    assert(count(relation(0, relation(1), relation(2))) === 1)
    assert(count(meet(1)(relation(0), relation(1, relation(2)))) === 0)
    assert(count(meet(2)(relation(0), relation(1, relation(2)))) === 2)
    assert(count(meet(1)(meet(1)(relation(0)), relation(1, relation(2)))) === 1)
    assert(count(relation(2, meet(1)(relation(0), relation(1)))) === 2)
    assert(count(relation(1, relation(0), RelationNode(2, BitSet(2), IndexedSeq.empty))) === 1)
  }

  private val comb12 = Hypergraph(line(6).edges ++ IndexedSeq.tabulate(6)(BitSet(_)))

  private def chainOfSets(n: Int) = Hypergraph(IndexedSeq.tabulate(n)(r => BitSet.fromSpecific(0 to r)))

  /** A line plus one relation with all its attributes. */
  private def fullLine(n: Int) = line(n - 1) + BitSet.fromSpecific(0 until n)

  private def name(relation: Int): String = s"G${relation + 1}"

  private def attribute(x: Int): String = ('A' + x).toChar.toString

  private def expect(graph: Hypergraph, notation: String, height: Int, cost: Double): Unit = {
    val tree = found(graph)
    assert(tree.notation(name, attribute) === notation)
    assert(tree.height === height)
    assert(tree.cost(IndexedSeq.fill(graph.size)(1.0)) === cost)
    ()
  }

  private def rendered(graph: Hypergraph, sizes: IndexedSeq[Double]): String =
    found(graph, sizes).notation(name, attribute)

  private def found(graph: Hypergraph): JoinTree = found(graph, IndexedSeq.fill(graph.size)(1.0))

  private def found(graph: Hypergraph, sizes: IndexedSeq[Double]): JoinTree =
    TreeSearch.best(graph, sizes).fold(core => fail(s"$graph is cyclic: $core"), identity)

  private def search(graph: Hypergraph, bound: Long): TreeSearch.Found =
    TreeSearch.search(graph, IndexedSeq.fill(graph.size)(1.0), bound).fold(core => fail(core.toString), identity)

  /** The measures in the documented order: height, cost, generalized nodes, depths of relations. */
  private def judge(tree: JoinTree, sizes: IndexedSeq[Double]): IndexedSeq[Double] =
    IndexedSeq(tree.height.toDouble, tree.cost(sizes), tree.generalizedNodes.toDouble) ++
      tree.depths.toIndexedSeq.sorted.map(_._2.toDouble)
}
