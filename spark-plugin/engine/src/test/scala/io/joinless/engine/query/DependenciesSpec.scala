package io.joinless.engine.query

import scala.collection.immutable.BitSet

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Closures and reducts beside brute force: a set of attributes determines another one exactly if
  * no table of two rows that has all dependencies contradicts it (Armstrong).
  */
class DependenciesSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val Attributes = BitSet(0, 1, 2, 3, 4, 5)

  private val sets: Gen[BitSet] = Gen.someOf(Attributes.toSeq).map(BitSet.fromSpecific(_))
  private val dependencies: Gen[Dependencies] =
    Gen.choose(0, 6).flatMap(Gen.listOfN(_, Gen.zip(sets, sets).map((Dependency.apply _).tupled))).map(Dependencies(_))

  /** The attributes in which two rows must agree that agree in `by`: in the intersection of all
    * sets in which two rows of a table with these dependencies can agree.
    */
  private def forced(by: BitSet, known: Dependencies): BitSet =
    Attributes.subsets().map(BitSet.fromSpecific(_)).filter { agree =>
      by.subsetOf(agree) && known.all.forall(d => !d.by.subsetOf(agree) || d.determined.subsetOf(agree))
    }.reduce(_ & _)

  test("the closure is what two rows must agree in") {
    forAll(sets, dependencies)((by, known) => assert(known.closure(by) === forced(by, known)))
  }

  test("the reduct has the attributes that each relation determines, and is its own reduct") {
    forAll(Gen.nonEmptyListOf(sets), dependencies) { (edges, known) =>
      val graph = Hypergraph(edges.toIndexedSeq)
      val reduct = known.reduct(graph)
      assert(reduct.edges === graph.edges.map(forced(_, known)))
      assert(known.reduct(reduct) === reduct)
    }
  }

  test("keys can make a query hierarchical: a chain of foreign keys, and of R(X) S(X,Y) T(Y) with X to Y") {
    def byKeys(graph: Hypergraph, keys: Seq[BitSet]*): QueryClass =
      QueryClass.of(Dependencies.ofKeys(graph, keys.toIndexedSeq).reduct(graph))
    val chain = Hypergraph.of(Seq(0, 1), Seq(1, 2), Seq(2, 3))
    assert(QueryClass.of(chain) === QueryClass.FreeConnex)
    assert(byKeys(chain, Nil, Seq(BitSet(1)), Seq(BitSet(2))) === QueryClass.QHierarchical)
    assert(byKeys(chain, Nil, Nil, Seq(BitSet(2))) === QueryClass.FreeConnex)
    val middle = Hypergraph.of(Seq(0), Seq(0, 1), Seq(1))
    assert(QueryClass.of(middle) === QueryClass.FreeConnex)
    assert(byKeys(middle, Nil, Seq(BitSet(0)), Nil) === QueryClass.QHierarchical)
    // a key of two columns, of which one alone determines nothing
    assert(byKeys(chain, Nil, Seq(BitSet(1, 2)), Nil) === QueryClass.FreeConnex)
    val triangle = Hypergraph.of(Seq(0, 1), Seq(1, 2), Seq(2, 0))
    assert(QueryClass.of(triangle) === QueryClass.Cyclic)
    assert(byKeys(triangle, Seq(BitSet(0)), Nil, Nil) === QueryClass.FreeConnex)
  }

  test("references: chains of keys, with rows that come and go below none of them") {
    def node(r: Int, attributes: Int*)(children: JoinTree*): JoinTree =
      RelationNode(r, BitSet(attributes: _*), children.toIndexedSeq)
    val chain = node(0, 0, 1)(node(1, 1, 2)(node(2, 2, 3)()))
    def of(tree: JoinTree, keys: Seq[BitSet]*) = References.of(tree, keys.toIndexedSeq)
    assert(of(chain, Nil, Seq(BitSet(1)), Seq(BitSet(2))) === Some(Seq(0 -> 1, 1 -> 2)))
    assert(of(chain, Nil, Seq(BitSet(1)), Nil) === None)
    assert(of(chain, Nil, Nil, Seq(BitSet(2))) === None)
    // upwards: each row below has one row above
    assert(of(chain, Seq(BitSet(1)), Seq(BitSet(2)), Nil) === Some(Nil))
    assert(of(chain, Seq(BitSet(1)), Nil, Seq(BitSet(2))) === Some(Seq(1 -> 2)))
    // rows of 1 come and go with those of 2, and 0 refers to them
    assert(of(chain, Nil, Seq(BitSet(1), BitSet(2)), Nil) === None)
    val below = GeneralizedNode(BitSet(1), IndexedSeq(node(1, 1, 2)(node(2, 2, 3)()), node(0, 0, 1)()))
    assert(of(below, Nil, Seq(BitSet(1)), Seq(BitSet(2))) === Some(Seq(1 -> 2)))
    assert(of(BagNode.of(Hypergraph.of(Seq(0), Seq(0))), Seq(BitSet(0)), Seq(BitSet(0))) === None)
  }
}
