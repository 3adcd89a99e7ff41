package io.joinless.spark.explain

import io.joinless.spark.placement.Placement
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.spec.BlockSpec
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, render}

/** Join trees as a Mermaid graph and as JSON, for notebooks and programs. */
object JoinTreeGraph {

  /** One box per node with its views, or with its counts; an edge has the key that links child and
    * parent.
    */
  def mermaid(specs: Seq[BlockSpec]): String = {
    val lines = specs.zipWithIndex.flatMap { case (spec, block) =>
      spec.shape.reduction match {
        case Some(reduction) =>
          graph[CountsNode](block, ReducedFacts(spec.shape, reduction).tree, _.children, _.key, node => Seq(node.name))
        case None =>
          graph[NodeFacts](
            block,
            ViewTreeFacts(spec.shape).root,
            _.children,
            _.key.toSeq.flatten,
            node => node.name +: node.views.map(v => s"${v.symbol} [${v.columns.mkString(", ")}]")
          )
      }
    }
    ("graph TD" +: lines).mkString("\n")
  }

  /** The lines of one tree.
    *
    * @param block its number, a part of the ids of its boxes
    * @param key the columns that link a node with its parent
    * @param texts the lines in a node's box
    */
  private def graph[N <: AnyRef](
      block: Int,
      root: N,
      children: N => Seq[N],
      key: N => Seq[String],
      texts: N => Seq[String]
  ): Seq[String] = {
    def preorder(node: N): Seq[N] = node +: children(node).flatMap(preorder)
    val nodes = preorder(root)

    /** The id of a node's box. */
    def id(node: N) = s"b${block}n${nodes.indexWhere(_ eq node)}"
    val boxes = nodes.map(node => s"""  ${id(node)}["${quoted(texts(node).mkString("<br/>"))}"]""")
    val edges = for (parent <- nodes; child <- children(parent)) yield {
      val label = if (key(child).isEmpty) "" else s"""|"${quoted(key(child).mkString(", "))}"|"""
      s"  ${id(parent)} ---$label ${id(child)}"
    }
    boxes ++ edges
  }

  /** Blocks, reasons and cost of a query as one JSON object.
    *
    * @param whole the cost of the whole query, if it has more than one block
    * @param readOnce static tables
    * @param steps of the whole query
    */
  def json(
      specs: Seq[BlockSpec],
      reasons: Seq[Reason],
      whole: Option[String] = None,
      readOnce: Seq[String] = Nil,
      steps: Option[JValue] = None
  ): String = compact(render(JObject(
    "blocks" -> JArray(specs.map(block).toList),
    "reasons" -> array(reasons),
    "wholeCost" -> whole.fold[JValue](JNull)(text => JString(text.stripPrefix(WholeCost.Heading))),
    "readOnce" -> JArray(readOnce.map(JString(_)).toList),
    "steps" -> steps.getOrElse(JNull)
  )))

  /** The reasons alone, as a list. */
  def json(reasons: Seq[Reason]): String = compact(render(array(reasons)))

  /** Reasons as a list of objects. */
  private def array(reasons: Seq[Reason]): JArray = JArray(reasons.map { reason =>
    JObject(
      "code" -> JString(reason.code.name),
      "sentence" -> JString(reason.sentence),
      "advice" -> JString(reason.advice),
      "arguments" -> JObject(reason.arguments.map { case (name, value) => name -> JString(value) }.toList)
    )
  }.toList)

  /** The facts of one block. */
  private def block(spec: BlockSpec): JObject = {
    val facts = ViewTreeFacts(spec.shape)
    val reduced = spec.shape.reduction.map(ReducedFacts(spec.shape, _))
    val placement = Placement.of(spec.shape, spec.shares, spec.relations.map(_ => 1.0))
    JObject(
      "relations" -> strings(facts.relations),
      "root" -> JString(reduced.fold(facts.root.name)(_.tree.name)),
      "height" -> JInt(reduced.fold(facts.height)(_.height)),
      "class" -> JString(reduced.fold(facts.queryClass)(_.queryClass).name),
      "classByKeys" -> facts.classByKeys.filter(_ => reduced.isEmpty).fold[JValue](JNothing)(c => JString(c._1.name)),
      "cost" -> JString(reduced.fold(facts.guarantee)(_.guarantee)),
      "cells" -> JInt(placement.cells),
      "shares" -> JObject(spec.divided.map { case (x, n) => x -> JInt(n) }.toList),
      "rowsStoredPerInputRow" -> JDouble(placement.stored),
      "neededUntil" -> JObject(facts.neededUntil.map { case (r, time) => r -> JString(time) }.toList),
      "keptForEver" -> JObject(facts.keptForEver.map { case (r, why) => r -> JString(why) }.toList),
      "crossProduct" -> JBool(facts.crossProduct.nonEmpty),
      "conditions" -> strings(facts.conditions),
      "closesCycle" -> strings(facts.cuts),
      "output" -> strings(facts.output),
      "counts" -> reduced.fold[JValue](JNull) { counts =>
        JObject(
          "per" -> strings(counts.projected),
          "once" -> JBool(counts.reduction.once),
          "sums" -> strings(counts.sums),
          "eliminated" -> strings(counts.eliminated),
          "added" -> strings(counts.added),
          "class" -> JString(counts.queryClass.name),
          "cost" -> JString(counts.guarantee),
          "components" -> JArray(counts.components.map { case (relations, projected) =>
            JObject("relations" -> strings(relations), "per" -> strings(projected))
          }.toList)
        )
      },
      "tree" -> reduced.fold(node(facts.root))(counts => node(counts.tree))
    )
  }

  /** A node of the trees by which results are counted, with its subtree; it has no views. */
  private def node(counts: CountsNode): JObject = JObject(
    "name" -> JString(counts.name),
    "relation" -> counts.relation.fold[JValue](JNull)(JInt(_)),
    "key" -> strings(counts.key),
    "views" -> JArray(Nil),
    "children" -> JArray(counts.children.map(node).toList)
  )

  /** A node of the view tree, with its views and its subtree. */
  private def node(facts: NodeFacts): JObject = JObject(
    "name" -> JString(facts.name),
    "relation" -> facts.relation.fold[JValue](JNull)(JInt(_)),
    "key" -> strings(facts.key.toSeq.flatten),
    "views" -> JArray(facts.views.map { v =>
      JObject("view" -> JString(v.symbol), "columns" -> strings(v.columns), "holds" -> JString(v.holds))
    }.toList),
    "children" -> JArray(facts.children.map(node).toList)
  )

  private def strings(items: Seq[String]): JArray = JArray(items.map(JString(_)).toList)

  /** The text inside quotes of Mermaid, which escapes them in its own way. */
  private def quoted(text: String): String = text.replace("\"", "#quot;")
}
