package io.joinless.spark.conf

import io.joinless.spark.SharedSpark
import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

class JoinlessConfSpec extends AnyFunSuite with SharedSpark {

  test("SET -v lists every public conf with its text") {
    val session = spark.newSession()
    session.conf.unset("spark.joinless.placement.maxCells")
    val listed = session.sql("SET -v").collect().map(row => row.getString(0) -> row).toMap
    JoinlessConf.all.filter(_.isPublic).foreach { entry =>
      val row = listed(entry.key)
      assert(row.getString(1) == entry.defaultValueString)
      assert(row.getString(2) == entry.doc)
      assert(entry.doc.endsWith("."), entry.key)
      assert(row.getString(3).matches("\\d+\\.\\d+\\.\\d+"), entry.key)
    }
    assert(
      listed.keys.filter(_.startsWith("spark.joinless.")).toSet == JoinlessConf.all.filter(_.isPublic).map(_.key).toSet
    )
  }

  test("defaults") {
    val conf = new JoinlessConf(new SQLConf)
    assert(conf.enabled && !conf.forced && conf.crossProducts && conf.cacheEnabled)
    assert((conf.minRelations, conf.maxRelations, conf.maxReplication) == ((3, 12, 8.0)))
    assert(conf.shares.isEmpty && conf.relationSizes.isEmpty && !conf.negativesAllowed)
    assert(JoinlessConf.boundOfCache(conf.cacheMaxBytes) == Runtime.getRuntime.maxMemory / 4)
    assert(JoinlessConf.boundOfCache(77) == 77)
  }

  test("lists of name=number are read, spaces and all") {
    withConf("spark.joinless.placement.shares" -> "a.dst=4, b.dst = 2") {
      assert(JoinlessConf.active.shares == Map("a.dst" -> 4L, "b.dst" -> 2L))
    }
    withConf("spark.joinless.relationSizes" -> "big one=5000000000") {
      assert(JoinlessConf.active.relationSizes == Map("big one" -> 5000000000L))
      assert(JoinlessConf.active.expectedRows(IndexedSeq("a", "b")) == Seq(1.0, 1.0))
    }
    withConf("spark.joinless.relationSizes" -> "a=1000,b=20,elsewhere=9000") {
      assert(JoinlessConf.active.expectedRows(IndexedSeq("a", "b", "c")) == Seq(1000.0, 20.0, 1000.0))
    }
  }

  test("values that make no sense are refused when set") {
    Seq(
      "mode" -> "always",
      "minRelations" -> "0",
      "placement.shares" -> "a.dst",
      "placement.shares" -> "a.dst=0",
      "relationSizes" -> "=4",
      "relationSizes" -> "a=9223372036854775808",
      "relationSizes" -> "a=1,a=2",
      "placement.shares" -> "a.dst=9223372036854775808",
      "placement.shares" -> "a.dst=1,a.dst=1",
      "placement.maxReplication" -> "0.5",
      "placement.maxCells" -> "-1",
      "cache.maxBytes" -> "-1"
    ).foreach { case (key, value) =>
      val refused = intercept[IllegalArgumentException](spark.conf.set(s"spark.joinless.$key", value))
      assert(refused.getMessage.contains("INVALID_CONF_VALUE"), key)
    }
  }
}
