package io.joinless.spark.errors

import org.scalatest.funsuite.AnyFunSuite

class SuggestionSpec extends AnyFunSuite {

  test("the nearest name is meant, if it is near") {
    val names = Seq("checkpointLocation", "batchId", "operator", "inputs")
    assert(Suggestion.of("checkpointlocation", names).contains("checkpointLocation"))
    assert(Suggestion.of("batchID", names).contains("batchId"))
    assert(Suggestion.of("btachId", names).contains("batchId"))
    assert(Suggestion.of("oprator", names).contains("operator"))
    assert(Suggestion.of("input", names).contains("inputs"))
    assert(
      Suggestion.of("version", names).isEmpty && Suggestion.of("", names).isEmpty && Suggestion.of("x", Nil).isEmpty
    )
    assert(Suggestion.sentence("inputz", names) == " Did you mean inputs?")
  }
}
