package io.joinless.engine.query

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.control.NoStackTrace

/** The search of the best join tree of a query in rows mode, where every join attribute is output
  * (algorithms A6, A8).
  *
  * Best: least height, then least cost Σ depth(e)·sizes(e), then fewest generalized nodes, then the
  * lowest relations nearest to the root (the depths of relations 0, 1, 2, … compared one after the
  * other). Remaining ties are decided by the fixed order of the search, so the same query gives the
  * same tree everywhere. Relations of size 0 leave the choice to height and cost alone: a sibling
  * that could move down at no cost stays at its level.
  *
  * A query of several connected components has the root [], and below it the best tree of each.
  *
  * The search is a dynamic program over sets of relations. It is exact within `workBound`
  * candidates. A query that needs more gets its GYO tree, hung at its best relation.
  */
object TreeSearch {

  /** The number of subproblems after which the search gives up: some tenths of a second. All
    * ordinary queries need thousands.
    */
  val WorkBound: Long = 100000

  /** The tree that a search has found.
    *
    * @param work the number of subproblems
    * @param exact the tree is the best one; false if the search gave up, and the tree is the
    *     fallback
    */
  final case class Found(tree: JoinTree, work: Long, exact: Boolean)

  /** The best join tree of a graph, or the core of a cyclic one.
    *
    * @param sizes how often each relation changes, relative to the others; 1 if unknown
    */
  def best(graph: Hypergraph, sizes: IndexedSeq[Double]): Either[CyclicCore, JoinTree] =
    search(graph, sizes, WorkBound).map(_.tree)

  def best(graph: Hypergraph): Either[CyclicCore, JoinTree] = best(graph, IndexedSeq.fill(graph.size)(1.0))

  /** The best join tree of relations that may represent several.
    *
    * @param heights the height of each relation's own tree
    */
  def best(
      graph: Hypergraph,
      sizes: IndexedSeq[Double],
      heights: IndexedSeq[Int]
  ): Either[CyclicCore, JoinTree] = search(graph, sizes, WorkBound, heights).map(_.tree)

  /** The best tree over `some` connected relations whose root contains `shared`; one of them must
    * contain it. None if the search exceeds its bound.
    */
  def over(graph: Hypergraph, some: BitSet, shared: BitSet, sizes: IndexedSeq[Double]): Option[JoinTree] =
    try Some(new TreeSearch(graph, sizes, IndexedSeq.fill(graph.size)(1), WorkBound).under(some, shared).best.tree)
    catch { case OutOfWork => None }

  /** The best join tree of an acyclic graph above which there is a root with the attributes `by`, a
    * generalized node, perhaps with one child only: its tuples are the values that `by` has in
    * results. None if no relation has all of these attributes.
    */
  def keyedBy(graph: Hypergraph, by: BitSet, sizes: IndexedSeq[Double]): Option[JoinTree] =
    graph.relations.find(r => by.subsetOf(graph.edges(r))).map { r =>
      try new TreeSearch(graph, sizes, IndexedSeq.fill(graph.size)(1), WorkBound).keyedBy(by).best.tree
      catch {
        case OutOfWork =>
          val neighbours = GyoReduction.reduce(graph).getOrElse(sys.error("a cyclic graph has no join tree"))
          GeneralizedNode(by, IndexedSeq(RootedTrees.at(graph, sizes, neighbours, r)))
      }
    }

  /** The best join tree, or the fallback after `workBound` subproblems; the core of a cyclic graph.
    */
  def search(graph: Hypergraph, sizes: IndexedSeq[Double], workBound: Long): Either[CyclicCore, Found] =
    search(graph, sizes, workBound, IndexedSeq.fill(graph.size)(1))

  /** The best join tree, or the fallback, of relations each of which may be the root of a tree of its
    * own, such as a component of a reduction.
    *
    * @param heights per relation, of that tree; 1 for a relation that is no more than itself
    */
  private def search(
      graph: Hypergraph,
      sizes: IndexedSeq[Double],
      workBound: Long,
      heights: IndexedSeq[Int]
  ): Either[CyclicCore, Found] = {
    require(graph.size > 0, "A query has at least one relation.")
    require(sizes.size == graph.size, s"${sizes.size} sizes for ${graph.size} relations.")
    GyoReduction.reduce(graph).map { neighbours =>
      val search = new TreeSearch(graph, sizes, heights, workBound)
      try Found(search.tree(), search.work, exact = true)
      catch { case OutOfWork => Found(RootedTrees.best(graph, sizes, neighbours), search.work, exact = false) }
    }
  }

  private object OutOfWork extends RuntimeException with NoStackTrace
}

final private class TreeSearch(
    graph: Hypergraph,
    sizes: IndexedSeq[Double],
    heights: IndexedSeq[Int],
    workBound: Long
) {

  var work: Long = 0L

  private val anyRoot = mutable.HashMap.empty[(BitSet, BitSet), ParetoFront]
  private val relationRoot = mutable.HashMap.empty[(Int, BitSet), ParetoFront]

  /** The best tree of the whole graph; throws `OutOfWork` beyond the bound. */
  def tree(): JoinTree = {
    val components = graph.components
    val front =
      if (components.size == 1) under(components.head, BitSet.empty)
      else meeting(BitSet.empty, components)
    front.best.tree
  }

  /** Trees over `some` relations whose root, a relation or a generalized node, contains `shared`.
    */
  def under(some: BitSet, shared: BitSet): ParetoFront =
    anyRoot.getOrElse(
      (some, shared), {
        val relationRoots = some.toIndexedSeq.filter(r => shared.subsetOf(graph.edges(r))).map(rooted(_, some))
        val front = ParetoFront.of((relationRoots ++ generalizedRoots(some, shared)).flatMap(_.candidates))
        anyRoot.update((some, shared), front)
        front
      }
    )

  /** Trees with a generalized root G ⊋ `shared` where at least two sets of `some` relations meet.
    *
    * These sets are the components outside G. A component without a relation that contains G cannot
    * be a child of G. It goes below a relation of another component that contains G, with all its
    * relations one level down. Each other component has such a relation at its top level, as
    * generalized nodes add no level. So all choices cost the same: the first component takes it.
    *
    * Outside G two components have no common attribute, and each has a relation that contains G. So
    * G is the intersection of two relations, and no other sets need be tried.
    */
  private def generalizedRoots(some: BitSet, shared: BitSet): IndexedSeq[ParetoFront] =
    for {
      meet <- graph.meets(some)
      if meet != shared && shared.subsetOf(meet)
      (groups, homeless) = components(some, meet).partition(_.exists(r => meet.subsetOf(graph.edges(r))))
      if groups.size >= 2
    } yield meeting(meet, groups.updated(0, homeless.foldLeft(groups.head)(_ | _)))

  /** Trees with the generalized root `by`, which some relation contains. As in `generalizedRoots`,
    * components that cannot be its children go below a relation of another one.
    */
  def keyedBy(by: BitSet): ParetoFront = {
    val (groups, homeless) = components(graph.relations, by).partition(_.exists(r => by.subsetOf(graph.edges(r))))
    meeting(by, groups.updated(0, homeless.foldLeft(groups.head)(_ | _)))
  }

  /** Trees with the generalized root `meet`, on which the trees over `parts` join. */
  private def meeting(meet: BitSet, parts: IndexedSeq[BitSet]): ParetoFront =
    ParetoFront.combined(parts.map(under(_, meet))) { below =>
      Candidate.generalized(GeneralizedNode(meet, below.map(_.tree)), below)
    }

  /** Trees over relations only, with the root `root`. */
  private def rooted(root: Int, some: BitSet): ParetoFront =
    relationRoot.getOrElse(
      (root, some), {
        val edge = graph.edges(root)
        // each component hangs under one of its relations that contain its separator
        val fronts = components(some - root, edge).map { part =>
          val separator = graph.attributesOf(part) & edge
          val heads = part.toIndexedSeq.filter(r => separator.subsetOf(graph.edges(r)))
          ParetoFront.of(heads.flatMap(rooted(_, part).candidates))
        }
        val front = ParetoFront.combined(fronts) { below =>
          val node = RelationNode(root, edge, below.map(_.tree))
          Candidate.relation(node, below, (some - root).toIndexedSeq, sizes, heights(root))
        }
        relationRoot.update((root, some), front)
        front
      }
    )

  /** As `Hypergraph.components`; each call is one subproblem of the work bound. */
  private def components(some: BitSet, cut: BitSet): IndexedSeq[BitSet] = {
    work += 1
    if (work > workBound) throw TreeSearch.OutOfWork
    graph.components(some, cut)
  }
}
