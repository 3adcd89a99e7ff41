package io.joinless.engine.sample

import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Kept samples of random queries under random changes ([[SampleRun]]). */
class SampleSpec extends AnyFunSuite {

  test("a sample is a set of results of the right size, and the same whatever history its tree has") {
    play(SampleRun.draw)
  }

  test("the law: every copy and pair of copies is as likely as the others, after every batch") {
    judge(SampleLaw.draw(_, 1000))
  }

  test("the sample of each group is a set of its results, and the same whatever history its tree has") {
    play(SampleRun.drawGrouped)
  }

  test("the law per group: copies are as likely as others of their group, groups are independent") {
    judge(SampleLaw.drawGrouped(_, 1000))
  }

  /** What is true of every sample. */
  private def play(draw: Long => SampleRun): Assertion = {
    var sampled, replaced = 0L
    for (seed <- 0L until 500L) {
      val run = draw(seed)
      run.run().foreach(what => fail(s"seed $seed, $what"))
      sampled += run.sampled
      replaced += run.replaced
    }
    info(s"$sampled copies were kept over all batches, $replaced entered or left")
    assert(replaced > 20000)
  }

  /** The law, until 60 queries have had more results than are kept. */
  private def judge(draw: Long => SampleLaw): Unit = {
    var (checks, queries, seed) = (0, 0, 0L)
    while (queries < 60) {
      val law = draw(seed)
      law.run().foreach(what => fail(s"seed $seed, $what"))
      checks += law.checks
      if (law.checks > 10) queries += 1
      seed += 1
    }
    info(s"$checks statistics of $seed queries, $queries of them with more results than are kept")
  }

  test("bounds of chance are those of tables") {
    for ((z, chance) <- Seq(0.0 -> 0.5, 1.0 -> 0.158655, 2.5 -> 0.0062097, 3.09 -> 1.0008e-3, 4.0 -> 3.1671e-5))
      assert(math.abs(Chances.normal(z) / chance - 1) < 1e-3, s"$z")
    for ((x, freedom, chance) <- Seq((10.83, 1, 1e-3), (29.59, 10, 1e-3), (149.45, 100, 1e-3), (35.56, 10, 1e-4)))
      assert(math.abs(Chances.chiSquare(x, freedom) / chance - 1) < 0.2, s"$x")
  }
}
