package io.joinless.engine.mutants

import scala.util.Try

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The property tests kill every mutant: they would detect the mistake.
  *
  * All mutants run if the engine or its tests have changed since all were killed last
  * ([[KilledMutants]]). If they are unchanged, every eighth runs: the outcome would be the same.
  */
class MutantSpec extends AnyFunSuite with BeforeAndAfterAll {
  private val cases = 2500L
  private val sources = KilledMutants.sources
  private val step = if (KilledMutants.areKnown(sources)) 8 else 1
  private val chosen = Mutant.all.indices.by(step).map(Mutant.all)
  private var killed = 0

  for (
    (tests, cases) <-
      Seq("runSamples", "runGroups", "runCells", "runPositions", "runOrders").map(Seq(_) -> 40L) :+ Seq(
        "run",
        "runSums",
        "runBags",
        "runTotals"
      ) -> 500L
  )
    test(s"control: the engine as it is survives ${tests.mkString(" and ")}") {
      assert(MutantEngine.probe(Mutant("none", "update/Propagation.scala"), cases, tests) === None)
    }

  test("what mutants replace is in the engine, once each") {
    val stale = Mutant.all.flatMap(mutant => Try(MutantEngine.source(mutant)).failed.toOption)
    assert(stale.isEmpty, stale.map(_.getMessage).mkString("; "))
    info(s"${chosen.size} of ${Mutant.all.size} mutants are run")
  }

  for (mutant <- chosen) test(s"killed: ${mutant.name}") {
    MutantEngine.probe(mutant, cases, MutantEngine.testsOf(mutant)) match {
      case Some(how) =>
        killed += 1
        info(how)
      case None => fail(s"survives $cases random cases")
    }
  }

  override def afterAll(): Unit = if (killed == Mutant.all.size) KilledMutants.of(sources)
}
