package io.joinless.engine

import io.joinless.engine.oracle._
import org.scalatest.funsuite.AnyFunSuite

/** Random queries and batches against the naive join; see [[EngineRun]] for what is compared.
  *
  * A failure prints its seed and leaves the shrunk case under `tests/regressions/`, from where it is replayed for ever.
  */
class EnginePropertySpec extends AnyFunSuite {

  test("oracle_batches: results, deltas, weights, membership and invariants of at least 200,000 batches") {
    var batches = 0
    var seed = 0L
    while (batches < 200000) {
      batches += play(seed, Generators.draw(seed))
      seed += 1
    }
    info(s"$batches batches over $seed queries")
  }

  test("oracle_batches: hundreds of rows, batches of up to 1,000 changes") {
    for (seed <- 0L until 60L) play(seed, Generators.drawLarge(seed))
  }

  for (path <- CaseFile.all) test(s"regression: ${path.getFileName}") {
    Shrinking.failure(CaseFile.read(path)).foreach(e => fail(e.getMessage, e))
  }

  test("a case survives being written down") {
    for (seed <- 0L until 200L) {
      val query = Generators.draw(seed)
      assert(CaseFile.parse(CaseFile.render(query)) === query)
    }
  }

  private def play(seed: Long, query: Case): Int = {
    val run = new EngineRun(query)
    try { run.run(); run.batchesDone }
    catch {
      case e: Mismatch =>
        val small = Shrinking.shrink(query)
        val why = Shrinking.failure(small).getOrElse(e)
        val path = CaseFile.write(small, s"seed-$seed", s"seed $seed\n${why.getMessage}")
        fail(s"seed $seed: ${why.getMessage}; shrunk to $path", why)
    }
  }
}
