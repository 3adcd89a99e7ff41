package io.joinless.spark.explain

import io.joinless.spark.Specs
import org.json4s.JsonAST.{JArray, JInt, JString}
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class ExplainSpec extends AnyFunSuite {

  test("the text names root, height, class, cost, placement and each view by its columns") {
    assert(
      JoinTreeText(Specs.threeHops) ==
        """Join-free join of a, b, c
          |  root b, height 2, class free-connex
          |  cost: O(1) amortised per inserted row; constant delay between results; state linear in the stored rows
          |  cells: 4 (shares a.dst 2, b.dst 2), at most 4 rows stored per input row, expected load of a cell 41.67 % of all rows
          |  checked while enumerating: (NOT (a.src = c.dst))
          |  result columns: a.src, b.dst, c.dst
          |  b
          |  |  semi-join view V_s(b) [src, dst]: rows with a match in a and in c
          |  +- a on dst
          |  |     semi-join view V_s(a) [src, dst]: all rows
          |  |     projection view V_p(a) [dst]: keys of a that its parent can join
          |  +- c on src
          |        semi-join view V_s(c) [src, dst]: all rows
          |        projection view V_p(c) [src]: keys of c that its parent can join""".stripMargin
    )
  }

  test("a cross product is warned of, a generalized node is named by its attributes") {
    val text = JoinTreeText(Specs.starAndOther)
    assert(text.contains("warning: no equi-join condition links s1, s2 with other: the result is their cross product"))
    assert(text.contains("root [], height 1, class q-hierarchical"))
    assert(text.contains("O(1) per change, whatever the changes"))
    assert(text.contains("semi-join view V_s([s1.name]) [s1.name]: keys with a match in s1 and in s2"))
  }

  test("the graph has one box per node and the keys on its edges") {
    val graph = JoinTreeGraph.mermaid(Seq(Specs.threeHops, Specs.starAndOther))
    assert(graph.startsWith("graph TD\n"))
    assert(graph.contains("""b0n0["b<br/>V_s [src, dst]"]"""))
    assert(graph.contains("""b0n0 ---|"dst"| b0n1"""))
    assert(graph.linesIterator.count(_.contains("---")) == 2 + 4)
  }

  test("the JSON holds the same facts") {
    val json = parse(JoinTreeGraph.json(Seq(Specs.threeHops), Nil))
    assert(json \ "blocks" \ "root" == JString("b") || (json \ "blocks")(0) \ "root" == JString("b"))
    assert((json \ "blocks")(0) \ "cells" == JInt(4))
    assert(json \ "reasons" == JArray(Nil))
  }

  test("the operator's inner children print a line per node and view") {
    val text = ViewTreePlan.of(Specs.threeHops.shape).treeString
    assert(text.startsWith("node b\n"))
    assert(text.contains("+- node c on src\n"))
    assert(text.contains(":- projection view V_p(a) [dst]: keys of a that its parent can join\n") || text.contains(
      "projection view V_p(a) [dst]"
    ))
    assert(ViewTreePlan.of(Specs.starAndOther.shape).collect { case n => n }.size == 5 + 5 + 4)
  }
}
