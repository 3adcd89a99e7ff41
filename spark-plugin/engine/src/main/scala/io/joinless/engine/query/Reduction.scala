package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** The plan that maintains a query which projects only some attributes, without its results. Each
  * existential component is one ''reduced'' relation over the attributes it projects, and these are
  * joined (algorithms A7).
  *
  * {{{
  * SELECT b.src, COUNT(*) FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
  * GROUP BY b.src                                                      projected: B = b.src
  *
  * [B]{a, b · c}       a row of b counts as many times as c has rows with its dst;
  *                     a B counts (number of a) · (number of b · c)
  * }}}
  * `a` and `b · c` are components. Both project B and nothing else, so they are one reduced
  * relation.
  *
  * A query that is not free-connex projects more attributes than requested, as few as possible to
  * make it free-connex; the consumer aggregates over the additional ones.
  *
  * Totals over a cycle of three relations are maintained as a join of three components, whatever
  * hangs on them, each of which projects the two attributes that it shares with the others. Their
  * top is a bag. Totals are in all, or per one or two of these attributes.
  *
  * @param output the projected attributes: those requested and those added
  * @param components in the order of their lowest relations; those that project nothing follow the
  *     first of these
  * @param top a join tree of the components, by position
  */
final case class Reduction(output: BitSet, components: IndexedSeq[ReducedRelation], top: JoinTree) {

  /** The height of the whole plan: the most relations on a path from a leaf, of a component or of the
    * top, to the root of the top.
    */
  def height: Int = {

    /** The height of the top's subtree. A path from a child in the top meets one relation of a
      * component, the root of its tree; a path from a leaf of that tree meets the tree alone.
      */
    def heightOf(node: JoinTree): Int = {
      val heightBelow = node.children.map(heightOf).maxOption.getOrElse(0)
      node match {
        case RelationNode(c, _, _) => math.max(components(c).tree.height, 1 + heightBelow)
        case _: GeneralizedNode | _: BagNode => heightBelow
      }
    }
    heightOf(top)
  }

  /** Σ depth · sizes, over the trees of components and the top. */
  def cost(sizes: IndexedSeq[Double]): Double = {
    val weights = components.map(_.relations.iterator.map(sizes).sum)
    components.map(_.tree.cost(sizes)).sum + top.cost(weights)
  }
}

/** An existential component, or several with the same projection, and the attributes it projects.
  *
  * @param tree over its relations; the attributes of its root contain `projected`
  */
final case class ReducedRelation(relations: BitSet, projected: BitSet, tree: JoinTree)

object ReducedRelation {

  /** Merges components that project the same attributes into one, whose trees join on them. The
    * product of their sums is then known once per key and need not be joined. The order is that of
    * the first component of each. Components that project nothing join on nothing and stay apart.
    */
  def together(components: IndexedSeq[ReducedRelation]): IndexedSeq[ReducedRelation] =
    components.map(_.projected).distinct.flatMap { projected =>
      val alike = components.filter(_.projected == projected)
      if (alike.size == 1 || projected.isEmpty) alike
      else {
        // a component that joins on just these attributes at its root gives its children
        val below = alike.map(_.tree).flatMap {
          case GeneralizedNode(`projected`, children) => children
          case tree => IndexedSeq(tree)
        }
        IndexedSeq(ReducedRelation(alike.map(_.relations).reduce(_ | _), projected, GeneralizedNode(projected, below)))
      }
    }

  /** Moves a component that projects a subset of another's attributes below the root of that other
    * one, where results are not counted. Then it only determines which of the other's rows are
    * present, and its changes concern the rows that they would concern in the top.
    *
    * If results are counted, such components stay in the top. There a changed count is propagated
    * to existing results only; below a root it would be propagated to all rows of the key. Only
    * totals over a cycle have them below its sides, which are the whole top.
    */
  @scala.annotation.tailrec
  def absorbed(components: IndexedSeq[ReducedRelation]): IndexedSeq[ReducedRelation] = {
    val pairs = for {
      part <- components.iterator if part.projected.nonEmpty
      whole <- components.iterator if part.projected != whole.projected && part.projected.subsetOf(whole.projected)
      tree <- attached(part, whole.tree)
    } yield (part, whole, ReducedRelation(whole.relations | part.relations, whole.projected, tree))
    pairs.nextOption() match {
      case None => components
      case Some((part, whole, both)) =>
        absorbed(components.filter(_ ne part).map(c => if (c eq whole) both else c).sortBy(_.relations.head))
    }
  }

  /** The tree `root` with a component attached below the first relation that meets its root. A
    * relation has only relations below it. So a component whose root is generalized is attached by
    * that root's children. None if these are not all relations, or join on more attributes than the
    * component projects.
    */
  private def attached(part: ReducedRelation, root: JoinTree): Option[JoinTree] = {
    val trees = part.tree match {
      case GeneralizedNode(attributes, children) =>
        Option.when(attributes == part.projected && children.forall(_.isInstanceOf[RelationNode]))(children)
      case tree => Some(IndexedSeq(tree))
    }

    /** The tree `node` with more children below its first relation. */
    def hung(node: JoinTree, trees: IndexedSeq[JoinTree]): JoinTree = node match {
      case RelationNode(r, attributes, children) => RelationNode(r, attributes, children ++ trees)
      case GeneralizedNode(attributes, children) =>
        GeneralizedNode(attributes, hung(children.head, trees) +: children.tail)
      case bag: BagNode => throw new IllegalArgumentException(s"the bag ${bag.attributes} is a whole tree")
    }
    trees.map(hung(root, _))
  }
}

object Reduction {

  /** If there are more additional attributes than this, all are projected instead of trying
    * subsets.
    */
  val MostTried = 10

  /** The reduction that projects the fewest attributes besides `output`; of several, the one of
    * least height, then of least cost. If more than [[MostTried]] could be projected, all of them
    * are. Left: the query is cyclic, and not totals over a cycle of three relations.
    *
    * @param sizes how often each relation changes, relative to the others
    * @param once only whether a projected row has results matters, not how many it has
    */
  def best(
      graph: Hypergraph,
      output: BitSet,
      sizes: IndexedSeq[Double],
      once: Boolean
  ): Either[CyclicCore, Reduction] =
    GyoReduction.reduce(graph).fold(
      core => total(graph, core, output, sizes, once).toRight(core),
      _ => Right(acyclic(graph, output, sizes, once))
    )

  def best(graph: Hypergraph, output: BitSet, once: Boolean = false): Either[CyclicCore, Reduction] =
    best(graph, output, IndexedSeq.fill(graph.size)(1.0), once)

  /** The best reduction of an acyclic query. */
  private def acyclic(graph: Hypergraph, output: BitSet, sizes: IndexedSeq[Double], once: Boolean): Reduction = {
    // only join attributes can help: one of a single relation connects no relations
    val hidden = graph.attributes.filter(x => !output(x) && graph.at(x).size > 1).toIndexedSeq
    val tried = if (hidden.size > MostTried) Iterator.empty else (0 to hidden.size).iterator
    tried.map { additional =>
      val found = hidden.combinations(additional).map(output ++ _).filter(FreeConnex.isFreeConnex(graph, _))
      found.flatMap(projecting(graph, _, sizes, once)).toIndexedSeq
    }.collectFirst { case found if found.nonEmpty => found.minBy(r => (r.height, r.cost(sizes)))(order) }
      .orElse(projecting(graph, output ++ hidden, sizes, once))
      .getOrElse(throw new IllegalStateException("an acyclic query that projects all join attributes is free-connex"))
  }

  /** The reduction of a query of which only totals are requested, at most per two attributes of the
    * cycle, and whose core is a cycle of three relations. None if the query is another one.
    */
  private def total(
      graph: Hypergraph,
      core: CyclicCore,
      output: BitSet,
      sizes: IndexedSeq[Double],
      once: Boolean
  ): Option[Reduction] =
    if (once || core.relations.size != 3 || core.attributes.size != 3) None
    else if (!output.subsetOf(core.attributes) || output.size > 2) None
    else
      for {
        found <- trees(graph, core.attributes, sizes)
        components = ReducedRelation.absorbed(ReducedRelation.together(found))
        if components.size == 3 && components.forall(_.projected.size == 2)
      } yield {
        val below = components.zipWithIndex.map { case (c, i) => RelationNode(i, c.projected, IndexedSeq.empty) }
        Reduction(core.attributes, components, BagNode(core.attributes, below))
      }

  /** The existential components of a query with this output, each with its best tree; None if some
    * relation of one does not have all that it projects, or the search exceeds its bound.
    */
  private def trees(
      graph: Hypergraph,
      output: BitSet,
      sizes: IndexedSeq[Double]
  ): Option[IndexedSeq[ReducedRelation]] = {
    val trees = FreeConnex.components(graph, output).map { c =>
      Option.when(c.relations.exists(r => c.projected.subsetOf(graph.edges(r))))(c)
        .flatMap(c => TreeSearch.over(graph, c.relations, c.projected, sizes))
        .map(ReducedRelation(c.relations, c.projected, _))
    }
    Option.when(trees.forall(_.isDefined))(trees.flatten)
  }

  /** The reduction with exactly this output, for which the query must be free-connex; None if the
    * search of trees exceeds its bound.
    */
  private def projecting(
      graph: Hypergraph,
      output: BitSet,
      sizes: IndexedSeq[Double],
      once: Boolean
  ): Option[Reduction] =
    trees(graph, output, sizes).map { found =>
      val alike = ReducedRelation.together(found)
      val components = if (once) ReducedRelation.absorbed(alike) else alike
      val reduced = Hypergraph(components.map(_.projected))
      val weights = components.map(_.relations.iterator.map(sizes).sum)
      val top = TreeSearch.best(reduced, weights, components.map(_.tree.height))
      Reduction(
        output,
        components,
        top.fold(core => throw new IllegalStateException(s"$core in a free-connex query"), identity)
      )
    }

  private val order: Ordering[(Int, Double)] = Ordering.Tuple2(Ordering.Int, Ordering.Double.TotalOrdering)
}
