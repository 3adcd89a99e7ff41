package io.joinless.spark.changes

import io.joinless.spark.SharedSpark
import org.scalatest.funsuite.AnyFunSuite

/** Cases in which the papers' rules, or the obvious ones, give wrong changes; each case as it was
  * found.
  */
class PitfallsSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  /** Runs each of `steps` as a batch; after each, the changes add up to batch SQL. Returns the
    * number of rows that the last one emitted.
    */
  private def after(sql: String)(steps: (Tables => Unit)*): Int = {
    val tables = new Tables
    withConf("spark.joinless.crossProducts.enabled" -> "true") {
      tables.start(sql)
      try steps.foldLeft(0) { (_, step) =>
          val before = tables.emitted
          step(tables)
          tables.advance()
          assert(tables.result == tables.expected(sql), sql)
          tables.emitted - before
        }
      finally tables.stop()
    }
  }

  test("a projected result that is there already is not emitted again, whatever supports it now (definition 5.6)") {
    val sql = "SELECT DISTINCT a.k, a.y FROM a JOIN u ON a.y = u.k"
    assert(after(sql)(t => { t.append(1, 1); t.insertPair(1, 1) }, _.insertPair(1, 2)) == 0)
    assert(after(sql)(t => { t.append(1, 1); t.insertPair(1, 1); t.insertPair(1, 2) }, _.deletePair(0)) == 0)
  }

  test("a key that is emptied deletes each of its results once, not once per witness") {
    val sql = "SELECT t.k, t.g, t.x, a.y FROM u JOIN t ON u.k = t.k JOIN a ON t.g = a.k"
    def fill(t: Tables): Unit = {
      t.insert(1, 1, 1L, 0.0)
      t.insert(1, 1, 2L, 0.0)
      t.insertPair(1, 0)
      t.append(1, 1)
    }
    assert(after(sql)(fill, _.deletePair(0)) == 2)
  }

  test("a sum of 0 is a group; no rows are none; NaN and the infinities leave nothing behind") {
    val sql = "SELECT g, SUM(x) AS s, SUM(d) AS sd, COUNT(d) AS n FROM t GROUP BY g"
    val emitted = after(sql)(
      t => { t.insert(1, 1, 5L, 0.1); t.insert(2, 1, -5L, Double.NaN); t.insert(3, 1, 0L, Double.PositiveInfinity) },
      t => { t.insert(4, 1, 0L, Double.NegativeInfinity); t.delete(1) },
      t => { t.delete(2); t.delete(1) },
      // the small number is inserted again, after the large ones: batch SQL adds up in the order of
      // its table
      t => { t.delete(0); t.insert(5, 1, -5L, 1e300); t.insert(5, 1, 5L, -1e300); t.insert(1, 1, 5L, 0.1) },
      t => while (t.size > 0) t.delete(0)
    )
    assert(emitted == 1)
  }

  test("relations without a common key: no result while one is empty, all pairs as soon as none is") {
    val sql = "SELECT t.x, a.y, u.g FROM t, a, u"
    assert(after(sql)(
      t => { t.insert(1, 1, 5L, 0.1); t.insert(1, 1, 6L, 0.1) },
      t => { t.append(1, 1); t.append(1, 2); t.append(1, 3) },
      _.insertPair(1, 1)
    ) == 6)
    assert(after(sql)(t => { t.insert(1, 1, 5L, 0.1); t.append(1, 1); t.insertPair(1, 1) }, _.delete(0)) == 1)
  }

  test(
    "a condition over several relations is tested on each result, and a result that is projected counts its supports"
  ) {
    val sql = "SELECT DISTINCT t.k FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k WHERE t.g <> a.y"
    def fill(t: Tables): Unit = { t.insert(1, 1, 5L, 0.1); t.insertPair(1, 7); t.append(7, 1) }
    assert(after(sql)(fill) == 0)
    assert(after(sql)(fill, _.append(7, 2), _.append(7, 3)) == 0)
    assert(after(sql)(fill, _.append(7, 2), _.insert(1, 2, 5L, 0.1), _.delete(0)) == 0)
  }

  test("EXISTS counts once, whatever number of rows satisfies it, where its rows are counted") {
    val sql = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k) GROUP BY g"
    def fill(t: Tables): Unit = { t.insert(1, 1, 5L, 0.1); t.insert(1, 1, 5L, 0.1); t.insertPair(1, 0) }
    assert(after(sql)(fill, t => { t.insertPair(1, 0); t.insertPair(1, 1) }) == 0)
    assert(after(sql)(fill, t => { t.insertPair(1, 0); t.deletePair(0) }) == 0)
    assert(after(sql)(fill, _.deletePair(0)) == 1)
  }
}
