package io.joinless.spark.explain

import io.joinless.engine.query.{GeneralizedNode, JoinTree, QueryClass, RelationNode}
import io.joinless.spark.spec.{BlockShape, ColumnRef, ReducedBlock, ReductionSpec}

/** How a block's results are counted without enumerating them, in words of columns (algorithms A7). */
final case class ReducedFacts(shape: BlockShape, reduction: ReductionSpec) {
  private val block = ReducedBlock(shape, reduction)
  private val vertices = ReducedBlock.Vertices(shape)

  val relations: Seq[String] = shape.relations.map(_.name)

  val queryClass: QueryClass = QueryClass.of(vertices.graph, vertices.shown)

  /** What is counted: each distinct combination of these has its number of results. */
  val shown: Seq[String] = block.top.output.indices.map(i => name(shape.output(i))).distinct

  /** Attributes that are shown though nobody asked, because without them the query is not free-connex. */
  val added: Seq[String] =
    reduction.top.preorder.flatMap(_.attributes).distinct.filterNot(vertices.shown).filter(
      _ < shape.attributes.size
    ).map(shape.attributes(_).name)

  /** Attributes by which relations join and that results do not show. */
  val eliminated: Seq[String] = {
    val kept = reduction.top.preorder.flatMap(_.attributes).toSet
    shape.attributes.indices.filterNot(kept).map(shape.attributes(_).name)
  }

  /** Per component its relations and what it shows. */
  val components: Seq[(Seq[String], Seq[String])] = reduction.components.indices.map { c =>
    reduction.components(c).relations.map(relations) -> block.shown(c).map(vertexName)
  }

  /** What is added up over results besides their number: the product of some columns. */
  val sums: Seq[String] = reduction.sums.map(_.factors.map(name).mkString(" times "))

  def guarantee: String = {
    val steps =
      if (reduction.components.forall(_.height == 1)) "O(1) per change"
      else if (reduction.once)
        "one step per row of a relation when the key below it comes or goes, O(1) amortised while rows only come"
      else "one step per row of a relation when the count below its key changes, once per batch and key"
    s"$steps; results are not enumerated; state linear in the stored rows"
  }

  /** The trees, as lines: the top with its components, each with the relations that it sums up. */
  def lines: Seq[String] = top(reduction.top).lines()

  private def top(node: JoinTree): TextTree = node match {
    case RelationNode(c, _, _) =>
      val per = components(c)._2
      val keys = if (per.isEmpty) "in all" else per.mkString("per ", ", ", "")
      TextTree(
        s"counts of ${components(c)._1.mkString(" and ")} $keys",
        sums(reduction.components(c), None) +: node.children.map(top)
      )
    case GeneralizedNode(_, _) => TextTree(attributes(node), node.children.map(top))
  }

  private def sums(node: JoinTree, parent: Option[JoinTree]): TextTree = {
    val key = parent.map(p => (node.attributes & p.attributes).toSeq.map(vertexName)).filter(_.nonEmpty)
    val on = key.fold("")(_.mkString(": a count per ", ", ", ""))
    val name = node match {
      case RelationNode(r, _, _) => relations(r)
      case GeneralizedNode(_, _) => attributes(node)
    }
    TextTree(name + on, node.children.map(sums(_, Some(node))))
  }

  private def attributes(node: JoinTree): String = s"[${node.attributes.toSeq.map(vertexName).mkString(", ")}]"

  private def vertexName(vertex: Int): String =
    if (vertex < shape.attributes.size) shape.attributes(vertex).name
    else
      (shape.output ++ shape.residuals.flatMap(_.columns)).find(vertices.of(_) == vertex).fold(s"column $vertex")(name)

  private def name(c: ColumnRef): String = {
    val column = shape.inputs(shape.relations(c.relation).input).columns(c.ordinal).name
    val relation = relations(c.relation)
    if (column.forall(ch => Character.isLetterOrDigit(ch) || ch == '_')) s"$relation.$column"
    else s"$column of $relation"
  }
}

/** A node of a tree that is drawn with characters, and what is below it. */
final private case class TextTree(label: String, children: Seq[TextTree]) {

  def lines(first: String = "", rest: String = ""): Seq[String] =
    (first + label) +: children.zipWithIndex.flatMap { case (child, i) =>
      child.lines(rest + "+- ", rest + (if (i == children.size - 1) "   " else "|  "))
    }
}
