package io.joinless.engine.sample

import io.joinless.engine.sample.PositionsLaw.all
import org.scalatest.funsuite.AnyFunSuite

/** The laws of positions that are drawn on demand ([[PositionsLaw]]). Bounds are those of a chance
  * of 10^-4^, with fixed seeds.
  */
class PositionsDrawnSpec extends AnyFunSuite {
  private val Least = 1e-4

  private def assertLaw(failure: Option[String]): Unit = failure.foreach(fail(_))

  for (p <- Seq(0.5, 0.3, 0.01))
    test(s"thinned: each position with the chance $p, whatever happens to the others") {
      assertLaw(new PositionsLaw(0, Least).thinned(p, trials = 20000))
    }

  for (exponent <- Seq(40, 64, 90, 120))
    test(s"thinned: of 2^$exponent positions about 5,000, and all bits of them are uniform") {
      assertLaw(new PositionsLaw(7, Least).spread(exponent))
    }

  test("thinned: nothing and everything") {
    for (total <- Seq(0, 1, 100000); replacement <- Seq(false, true))
      assert(all(new ThinnedPositions(0.0, replacement, 1, total)).isEmpty)
    for (total <- Seq(0, 1, 100000))
      assert(all(new ThinnedPositions(1.0, replacement = false, 1, total)) == (0 until total).map(BigInt(_)))
    val last = BigInt(2).pow(127) - 1
    assert(all(new ThinnedPositions(1e-300, replacement = false, 1, last)).isEmpty)
    assert(all(new ThinnedPositions(1e-36, replacement = false, 1, last)).forall(_ < last))
  }

  for (mean <- Seq(0.05, 0.7, 3.0))
    test(s"thinned with replacement: copies are Poisson numbers of mean $mean") {
      assertLaw(new PositionsLaw(3, Least).poisson(mean))
    }

  test("without replacement: each subset of all cells together has the same chance, in each order") {
    assertLaw(new PositionsLaw(0, Least).subsets(trials = 28000))
  }

  test("with replacement: each sequence has the same chance") {
    assertLaw(new PositionsLaw(0, Least).sequences(trials = 32000))
  }

  test("drawn without replacement, positions end; keys ascend from chunk to chunk") {
    assertLaw(new PositionsLaw(5, Least).chunks)
  }

  test("drawn with replacement, positions come again; keys ascend from chunk to chunk") {
    assertLaw(new PositionsLaw(5, Least).repeats)
  }

  test("all laws, for other seeds") {
    for (seed <- 1L to 12L) assertLaw(new PositionsLaw(seed, 1e-6).failure)
  }
}
