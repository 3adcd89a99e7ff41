package io.joinless.spark.explain

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{
  BagNode,
  GeneralizedNode,
  JoinTree,
  QueryClass,
  ReducedRelation,
  Reduction,
  RelationNode
}
import io.joinless.spark.spec.{BlockShape, ColumnRef, ReducedBlock, ReducedVertices, ReductionSpec}

/** The way in which a block's results are counted without enumerating them, in words of columns
  * (algorithms A7).
  */
final case class ReducedFacts(shape: BlockShape, reduction: ReductionSpec) {
  private val block = ReducedBlock(shape, reduction)
  private val vertices = ReducedVertices(shape)

  val relations: Seq[String] = shape.relations.map(_.name)

  val queryClass: QueryClass = QueryClass.of(vertices.graph, vertices.projected)

  /** The projected columns: each distinct combination of their values has its number of results. */
  val projected: Seq[String] = block.top.output.indices.map(i => name(shape.output(i))).distinct

  /** Attributes that are projected without being requested, because without them the query is not
    * free-connex.
    */
  val added: Seq[String] = if (reduction.isTotal) Nil
  else
    reduction.top.preorder.flatMap(_.attributes).distinct.filterNot(vertices.projected).filter(
      _ < shape.attributes.size
    ).map(shape.attributes(_).name)

  /** Join attributes that are not projected. */
  val eliminated: Seq[String] = {
    val kept = reduction.top.preorder.flatMap(_.attributes).toSet
    shape.attributes.indices.filterNot(kept).map(shape.attributes(_).name)
  }

  /** Per component its relations and its projected attributes. */
  val components: Seq[(Seq[String], Seq[String])] = reduction.components.indices.map { c =>
    reduction.components(c).relations.map(relations) -> block.projected(c).map(vertexName)
  }

  /** The sums over results besides their number: the product of some columns. */
  val sums: Seq[String] = reduction.sums.map(_.factors.map(name).mkString(" times "))

  /** The cost of a change and of the state, in one line. */
  def guarantee: String =
    if (reduction.isTotal)
      s"$update; results are not enumerated; state linear in the stored rows N, plus the paths through frequent values, O(N^1.5)"
    else s"$update; results are not enumerated; state linear in the stored rows"

  /** The cost of propagating a change. */
  def update: String =
    if (reduction.isTotal) {
      val further = if (reduction.components.forall(_.children.isEmpty)) "" else " of the cycle"
      val shorter = "one step per row of the shorter of two lists"
      val without = reduction.components.indices.filterNot(c => vertices.projected.subsetOf(reduction.projected(c)))
      val others = without.flatMap(reduction.components(_).relations).sorted.map(relations)
      val walk =
        if (others.isEmpty) s"and never more than $shorter" else s"$shorter for one of ${others.mkString(" or ")}"
      s"O(sqrt(N)) amortised per change$further, $walk"
    } else if (reduction.components.forall(_.height == 1)) ViewTreeFacts.PerChange
    else if (reduction.once)
      "one step per row of a relation when the key below it is inserted or deleted, O(1) amortised while rows are only inserted"
    else "one step per row of a relation when the count below its key changes, once per batch and key"

  /** The top with its components, each with the relations that it sums up. */
  val tree: CountsNode = top(reduction.top)

  /** The number of relations on a path from a leaf of a component to the root of the top. */
  def height: Int = {
    val reduced = reduction.components.zipWithIndex.map { case (tree, c) =>
      ReducedRelation(BitSet.fromSpecific(tree.relations), reduction.projected(c), tree)
    }
    Reduction(vertices.projected, reduced, reduction.top).height
  }

  /** A node of the top: for a component, with the trees of its relations below it. */
  private def top(node: JoinTree): CountsNode = node match {
    case RelationNode(c, _, _) =>
      val per = components(c)._2
      val keys = if (per.isEmpty) "in all" else per.mkString("per ", ", ", "")
      val (how, below) = reduction.components(c) match {
        case meeting: GeneralizedNode if meeting.attributes == reduction.projected(c) =>
          (", multiplied", meeting.children.map(sums(_, Some(meeting))))
        case tree => ("", Seq(sums(tree, None)))
      }
      CountsNode(
        s"counts of ${components(c)._1.mkString(" and ")} $keys$how",
        None,
        Nil,
        below ++ node.children.map(top)
      )
    case _: BagNode => CountsNode(
        s"paths through frequent values, by intersection on ${attributes(node)}",
        None,
        Nil,
        node.children.map(top)
      )
    case _ => CountsNode(attributes(node), None, Nil, node.children.map(top))
  }

  /** A node of a component's tree.
    *
    * @param parent above it in the component; None at the component's root
    */
  private def sums(node: JoinTree, parent: Option[JoinTree]): CountsNode = {
    val key = parent.toSeq.flatMap(p => (node.attributes & p.attributes).toSeq.map(vertexName))
    val (name, relation) = node match {
      case RelationNode(r, _, _) => (relations(r), Some(r))
      case _ => (attributes(node), None)
    }
    CountsNode(name, relation, key, node.children.map(sums(_, Some(node))))
  }

  private def attributes(node: JoinTree): String = s"[${node.attributes.toSeq.map(vertexName).mkString(", ")}]"

  /** The name of a vertex of the reduced query: an attribute, or a projected column that is none.
    */
  private def vertexName(vertex: Int): String =
    if (vertex < shape.attributes.size) shape.attributes(vertex).name
    else
      (shape.output ++ shape.residuals.flatMap(_.columns)).find(vertices.of(_) == vertex).fold(s"column $vertex")(name)

  /** A column with its relation; a computed one is called by its expression. */
  private def name(c: ColumnRef): String = {
    val column = shape.inputs(shape.relations(c.relation).input).columns(c.ordinal).name
    val relation = relations(c.relation)
    if (column.forall(ch => Character.isLetterOrDigit(ch) || ch == '_')) s"$relation.$column"
    else s"$column of $relation"
  }
}

/** A node of the trees by which results are counted.
  *
  * @param relation the relation whose rows it sums up, if it is one
  * @param key the columns towards the parent node; the node has a count per value of them
  */
final case class CountsNode(name: String, relation: Option[Int], key: Seq[String], children: Seq[CountsNode]) {

  def label: String = name + (if (key.isEmpty) "" else key.mkString(": a count per ", ", ", ""))

  /** The tree drawn with characters. */
  def lines(first: String = "", rest: String = ""): Seq[String] =
    (first + label) +: children.zipWithIndex.flatMap { case (child, i) =>
      child.lines(rest + "+- ", rest + (if (i == children.size - 1) "   " else "|  "))
    }
}
