package io.joinless.engine.mutants

import scala.util.Try

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.{Args, Status}

/** The property tests kill every mutant: they would detect the mistake.
  *
  * All mutants run if the engine or its tests have changed since all were killed last
  * ([[KilledMutants]]). If they are unchanged, every eighth runs: the outcome would be the same.
  */
class MutantSpec extends AnyFunSuite {
  private val cases = 2500L
  private val all = !KilledMutants.areKnown
  private val chosen = Mutant.all.indices.filter(i => all || i % 8 == 0).map(Mutant.all)

  test("control: the engine as it is survives") {
    assert(MutantEngine.probe(Mutant("none", "update/Propagation.scala"), 500) === None)
  }

  test("what mutants replace is in the engine, once each") {
    val stale = Mutant.all.flatMap(mutant => Try(MutantEngine.source(mutant)).failed.toOption)
    assert(stale.isEmpty, stale.map(_.getMessage).mkString("; "))
    info(s"${chosen.size} of ${Mutant.all.size} mutants are run")
  }

  for (mutant <- chosen) test(s"killed: ${mutant.name}") {
    MutantEngine.probe(mutant, cases) match {
      case Some(how) => info(how)
      case None => fail(s"survives $cases random cases")
    }
  }

  override def run(testName: Option[String], args: Args): Status = {
    val status = super.run(testName, args)
    val complete = all && testName.isEmpty && args.filter.tagsToInclude.isEmpty && args.filter.dynaTags.testTags.isEmpty
    status.whenCompleted(succeeded => if (succeeded.getOrElse(false) && complete) KilledMutants.areNow())
    status
  }
}
