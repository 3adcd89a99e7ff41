package io.joinless.engine.mutants

import scala.util.Try

import org.scalatest.funsuite.AnyFunSuite

/** The property tests notice every mutant: they would notice the mistake. */
class MutantSpec extends AnyFunSuite {
  private val cases = 2500L

  test("control: the engine as it is survives") {
    assert(MutantEngine.probe(Mutant("none", "update/Propagation.scala"), 500) === None)
  }

  test("what mutants replace is in the engine, once each") {
    val stale = Mutant.all.flatMap(mutant => Try(MutantEngine.source(mutant)).failed.toOption)
    assert(stale.isEmpty, stale.map(_.getMessage).mkString("; "))
  }

  for (mutant <- Mutant.all) test(s"killed: ${mutant.name}") {
    MutantEngine.probe(mutant, cases) match {
      case Some(how) => info(how)
      case None => fail(s"survives $cases random cases")
    }
  }
}
