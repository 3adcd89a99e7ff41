package io.joinless.engine.sample

import org.scalatest.funsuite.AnyFunSuite

/** Kept samples of random queries under random changes ([[SampleRun]]). */
class SampleSpec extends AnyFunSuite {

  test("a sample is a set of results of the right size, and the same whatever history its tree has") {
    var sampled, replaced = 0L
    for (seed <- 0L until 2000L) {
      val run = SampleRun.draw(seed)
      run.run().foreach(what => fail(s"seed $seed, $what"))
      sampled += run.sampled
      replaced += run.replaced
    }
    info(s"$sampled copies were kept over all batches, $replaced entered or left")
    assert(replaced > 50000)
  }
}
