package io.joinless.engine.sample

import scala.collection.mutable

import io.joinless.engine.sample.SampledTree.Copy
import org.scalatest.funsuite.AnyFunSuite

/** The law of a kept sample over expiring rows, several cells and restarts ([[CellsLaw]]).
  * JOINLESS_SAMPLE_LAWS is the number of queries; `make test-long` has 300, of 1,000 repetitions.
  */
class SampleLawSpec extends AnyFunSuite {
  import SampleLawSpec._

  private val queries = sys.env.get("JOINLESS_SAMPLE_LAWS").map(_.toInt)

  test("the sample of 1, 3 or 4 cells is a set of results of the right size after every batch") {
    var sampled = 0L
    for (seed <- 0L until 1000L) {
      val drawn = CellsLaw.draw(seed)
      drawn.run(seed).foreach(what => fail(s"seed $seed, $drawn, $what"))
      sampled += drawn.sampled
    }
    info(s"$sampled copies were kept over all batches")
    assert(sampled > 20000)
  }

  test("each batch of each cell has random numbers of its own")(assert(CellsLaw.sameSeeds === None))

  test("the law, over appended, deleted and expiring rows, conditions, cells, restarts and sizes") {
    val seen = mutable.Map.empty[String, Int].withDefaultValue(0)
    for (seed <- judged.take(queries.getOrElse(32))) {
      val drawn = CellsLaw.draw(seed)
      val law = drawn.law(repetitions = if (queries.isEmpty) 600 else 1000, unlikely)
      law.run().foreach(what => fail(s"seed $seed, $drawn, $what"))
      for (what <- Seq(s"${drawn.cells} cells", drawn.inputs, s"conditions: ${drawn.query.residuals.nonEmpty}"))
        seen(what) += 1
      seen("statistics") += law.checks
    }
    info(seen.toSeq.sorted.mkString(", "))
    assert(seen.size == 9 && seen.values.forall(_ >= 3), seen)
  }

  /** Of one statistic; less where so many more are compared. */
  private def unlikely = if (queries.isEmpty) SampleLaw.Unlikely else SampleLaw.Unlikely / 100

  for ((merge, what) <- wrong) test(s"the law notices $what") {
    val found = judged.filter(CellsLaw.draw(_).cells > 1).take(12).exists { seed =>
      CellsLaw.draw(seed).law(800, 1e-9, merge).run().isDefined
    }
    assert(found)
  }
}

private object SampleLawSpec {

  /** Seeds of cases with many more results than are kept, in several batches. */
  private val judged = LazyList.iterate(0L)(_ + 1).filter(CellsLaw.draw(_).isJudged)

  /** Merges of the samples of cells that are none. */
  private val wrong: Seq[(SampledCells.Merge, String)] = Seq(
    new SampledCells.Merge {
      override def apply(cells: Seq[Map[Copy, Double]], capacity: Int): Seq[(Copy, Double)] =
        cells.flatten.sortBy(-_._2).take(capacity)
    } -> "that the greatest keys are taken",
    new SampledCells.Merge {
      override def apply(cells: Seq[Map[Copy, Double]], capacity: Int): Seq[(Copy, Double)] =
        cells.flatMap(_.toSeq.sortBy(_._2)).take(capacity)
    } -> "that the first cells are preferred",
    new SampledCells.Merge {
      override def apply(cells: Seq[Map[Copy, Double]], capacity: Int): Seq[(Copy, Double)] = {
        val inTurn = cells.map(_.toSeq.sortBy(_._2)).flatMap(_.zipWithIndex)
        inTurn.sortBy { case ((_, key), turn) => (turn, key) }.map(_._1).take(capacity)
      }
    } -> "that each cell has its turn"
  )
}
