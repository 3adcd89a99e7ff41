package io.joinless.spark.plans.failures

import io.joinless.spark.rules.StreamingPlans
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The expressions that are known to have a value on every row. */
class CanThrowSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    stream("v", "id BIGINT, i INT, s STRING, d DOUBLE, t TIMESTAMP")
  }

  private def canThrow(expression: String, ansi: Boolean = true): Boolean =
    withConf("spark.sql.ansi.enabled" -> ansi.toString) {
      optimized(s"SELECT $expression AS x FROM v") match {
        case Project(Seq(value), _) => CanThrow(value)
        case other => fail(other.treeString)
      }
    }

  test("what can fail") {
    Seq(
      "CAST(s AS BIGINT)",
      "10 DIV id",
      "10 / id",
      "id + 1",
      "CAST(id AS INT)",
      "id % i",
      "id % 0",
      "id DIV -1",
      "-i",
      "abs(i)",
      "to_date(s)"
    )
      .foreach(e => assert(canThrow(e), e))
    Seq("raise_error(s)", "element_at(array(i), i)", "array(i)[i]", "regexp_like(s, s)", "from_json(s, 'x INT').x")
      .foreach(e => assert(canThrow(e), e))
  }

  test("what fails only where a number or a time gets too large") {
    def onlyByOverflow(expression: String): Boolean = optimized(s"SELECT $expression AS x FROM v") match {
      case Project(Seq(Alias(value, _)), _) => CanThrow.onlyByOverflow(value)
      case other => fail(other.treeString)
    }
    Seq(
      "id + 1",
      "2 * -i",
      "abs(id - i)",
      "CAST(abs(i) AS BIGINT)",
      "id + 1 > i AND i < 3",
      "t + INTERVAL 3 DAYS <= t"
    )
      .foreach(e => assert(onlyByOverflow(e), e))
    Seq("id DIV 2", "CAST(s AS INT) + 1", "d + 1", "CAST(id AS INT)", "id + 1 > 2 DIV i").foreach(e =>
      assert(!onlyByOverflow(e), e)
    )
  }

  test("what cannot") {
    Seq(
      "s",
      "CAST(i AS BIGINT)",
      "CAST(id AS STRING)",
      "upper(trim(s))",
      "d * 2D",
      "coalesce(i, 0)",
      "i BETWEEN 1 AND 4"
    )
      .foreach(e => assert(!canThrow(e), e))
    Seq(
      "try_cast(s AS BIGINT)",
      "try_add(id, 1)",
      "try_divide(10, id)",
      "s LIKE 'a%'",
      "substring(s, 1, 2)",
      "id & 3",
      "id % 4",
      "i DIV 2",
      "d / 2"
    )
      .foreach(e => assert(!canThrow(e), e))
    Seq("CAST(s AS BIGINT)", "10 DIV id", "id + 1").foreach(e => assert(!canThrow(e, ansi = false), e))
  }
}
