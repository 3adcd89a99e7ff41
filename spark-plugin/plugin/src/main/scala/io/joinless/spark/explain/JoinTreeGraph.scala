package io.joinless.spark.explain

import io.joinless.spark.placement.Placement
import io.joinless.spark.plans.Reason
import io.joinless.spark.spec.BlockSpec
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, render}

/** Join trees as a Mermaid graph and as JSON, for notebooks and programs. */
object JoinTreeGraph {

  /** One box per node with its views; an edge carries the key that links child and parent. */
  def mermaid(specs: Seq[BlockSpec]): String = {
    val lines = specs.zipWithIndex.flatMap { case (spec, block) =>
      val nodes = ViewTreeFacts(spec.shape).root.preorder
      def id(node: NodeFacts) = s"b${block}n${nodes.indexWhere(_ eq node)}"
      val boxes = nodes.map { node =>
        val views = node.views.map(v => s"${v.symbol} [${v.columns.mkString(", ")}]")
        s"""  ${id(node)}["${quoted((node.name +: views).mkString("<br/>"))}"]"""
      }
      val edges = for (parent <- nodes; child <- parent.children) yield {
        val key = child.key.toSeq.flatten
        val label = if (key.isEmpty) "" else s"""|"${quoted(key.mkString(", "))}"|"""
        s"  ${id(parent)} ---$label ${id(child)}"
      }
      boxes ++ edges
    }
    ("graph TD" +: lines).mkString("\n")
  }

  def json(specs: Seq[BlockSpec], reasons: Seq[Reason]): String =
    compact(render(JObject("blocks" -> JArray(specs.map(block).toList), "reasons" -> array(reasons))))

  /** The reasons alone, as a list. */
  def json(reasons: Seq[Reason]): String = compact(render(array(reasons)))

  private def array(reasons: Seq[Reason]): JArray = JArray(reasons.map { reason =>
    JObject(
      "code" -> JString(reason.code.name),
      "sentence" -> JString(reason.sentence),
      "advice" -> JString(reason.advice),
      "arguments" -> JObject(reason.arguments.map { case (name, value) => name -> JString(value) }.toList)
    )
  }.toList)

  private def block(spec: BlockSpec): JObject = {
    val facts = ViewTreeFacts(spec.shape)
    val placement = Placement.of(spec.shape, spec.shares, spec.relations.map(_ => 1.0))
    JObject(
      "relations" -> strings(facts.relations),
      "root" -> JString(facts.root.name),
      "height" -> JInt(facts.height),
      "class" -> JString(facts.queryClass.name),
      "cost" -> JString(facts.guarantee),
      "cells" -> JInt(placement.cells),
      "shares" -> JObject(spec.divided.map { case (x, n) => x -> JInt(n) }.toList),
      "rowsStoredPerInputRow" -> JDouble(placement.stored),
      "crossProduct" -> JBool(facts.crossProduct.nonEmpty),
      "conditions" -> strings(facts.conditions),
      "closesCycle" -> strings(facts.cuts),
      "output" -> strings(facts.output),
      "counts" -> spec.shape.reduction.fold[JValue](JNull) { reduction =>
        val reduced = ReducedFacts(spec.shape, reduction)
        JObject(
          "per" -> strings(reduced.shown),
          "once" -> JBool(reduction.once),
          "sums" -> strings(reduced.sums),
          "eliminated" -> strings(reduced.eliminated),
          "added" -> strings(reduced.added),
          "class" -> JString(reduced.queryClass.name),
          "cost" -> JString(reduced.guarantee),
          "components" -> JArray(reduced.components.map { case (relations, shown) =>
            JObject("relations" -> strings(relations), "per" -> strings(shown))
          }.toList)
        )
      },
      "tree" -> node(facts.root)
    )
  }

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

  private def quoted(text: String): String = text.replace("\"", "#quot;")
}
