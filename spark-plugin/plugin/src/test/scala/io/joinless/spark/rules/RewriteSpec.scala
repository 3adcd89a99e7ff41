package io.joinless.spark.rules

import org.scalatest.funsuite.AnyFunSuite

class RewriteSpec extends AnyFunSuite with StreamingPlans {

  test("a chain of three joins is one block") {
    stream("e", "src BIGINT, dst BIGINT")
    val found = block("SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src")
    println(found.spec)
    println(found.treeString)
    assert(found.spec.relations.map(_.name) == Seq("a", "b", "c"))
  }
}
