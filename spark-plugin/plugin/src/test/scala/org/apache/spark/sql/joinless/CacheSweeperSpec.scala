package org.apache.spark.sql.joinless

import io.joinless.spark.{EdgeFiles, SharedSpark}
import io.joinless.spark.state.cells.{CacheSweeper, ViewTreeCache}
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.scalatest.funsuite.AnyFunSuite

class CacheSweeperSpec extends AnyFunSuite with SharedSpark {

  test("view trees are dropped when their stores were closed, and not before") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    ViewTreeCache.executor.clear()
    val hops = "SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
    val query = files.streaming(hops).writeStream.format("noop").option("checkpointLocation", files.path("cp")).start()
    try {
      query.processAllAvailable()
      CacheSweeper.sweep()
      assert(ViewTreeCache.executor.size > 0)
      assert(ViewTreeCache.executor.size == query.lastProgress.stateOperators.head.numStateStoreInstances)
    } finally query.stop()
    StateStore.stop()
    CacheSweeper.sweep()
    assert(ViewTreeCache.executor.size == 0)
  }
}
