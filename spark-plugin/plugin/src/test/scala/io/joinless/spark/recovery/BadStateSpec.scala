package io.joinless.spark.recovery

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.util.UUID
import io.joinless.spark.{EdgeFiles, SharedSpark}
import io.joinless.spark.state.log.ChangeLog
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.Platform
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._

/** Invalid state is reported by name and left unchanged. */
class BadStateSpec extends AnyFunSuite with SharedSpark {

  private val threeHops =
    "SELECT a.src, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  /** One cell, and one batch done. */
  private def started(body: (EdgeFiles, CollectedQuery) => Assertion): Assertion =
    withConf("spark.sql.shuffle.partitions" -> "1") {
      val files = new EdgeFiles(spark, "e")
      val query = new CollectedQuery(files, threeHops)
      files.addRandom(1)
      query.run()
      files.addRandom(2)
      body(files, query)
    }

  private def condition(e: Throwable): (String, Map[String, String]) = e match {
    case s: SparkThrowable => (s.getCondition, s.getMessageParameters.asScala.toMap)
    case other => throw new AssertionError("no condition", other)
  }

  /** Writes version 1 of the only store again, with other blocks. */
  private def rewriteVersion1(query: CollectedQuery)(blocks: Seq[(UnsafeRow, UnsafeRow)] => Seq[(UnsafeRow, UnsafeRow)])
      : Unit = {
    val provider = StateStoreProvider.createAndInit(
      StateStoreProviderId(StateStoreId(query.checkpoint + "/state", 0, 0), UUID.randomUUID()),
      ChangeLog.KeySchema,
      ChangeLog.ValueSchema,
      NoPrefixKeyStateEncoderSpec(ChangeLog.KeySchema),
      useColumnFamilies = false,
      new StateStoreConf(SQLConf.get),
      spark.sessionState.newHadoopConf(),
      useMultipleValuesPerKey = false,
      None
    )
    val read = provider.getStore(1)
    val now = read.iterator().map(p => (p.key.copy(), p.value.copy())).toList
    read.abort()
    assert(now.nonEmpty)
    val write = provider.getStore(0)
    blocks(now).foreach { case (k, v) => write.put(k, v) }
    write.commit()
    provider.close()
  }

  test("recovery_ a corrupt block is named by block, cell and batch") {
    started { (_, query) =>
      rewriteVersion1(query)(_.map { case (k, v) =>
        Platform.putByte(v.getBaseObject, v.getBaseOffset + 16 + 100, 77)
        (k, v)
      })
      val (name, parameters) = condition(query.failure())
      assert(name == "JOINLESS_CORRUPT_STATE")
      assert(parameters("block") == "0" && parameters("cell") == "0" && parameters("batch") == "0", parameters)
      assert(parameters("what").contains("checksum"))
    }
  }

  test("recovery_ a block in another's place is named") {
    started { (_, query) =>
      rewriteVersion1(query)(_.map { case (k, v) => k.setLong(0, 5); (k, v) })
      assert(condition(query.failure())._2("what").contains("it is block 0"))
    }
  }

  private def contents(folder: Path): Map[String, Seq[Byte]] = {
    val all = Files.walk(folder)
    try all.iterator.asScala.filter(Files.isRegularFile(_)).map(f => f.toString -> Files.readAllBytes(f).toSeq).toMap
    finally all.close()
  }

  private def refused(query: CollectedQuery): (String, Map[String, String]) = {
    val state = Paths.get(query.checkpoint, "state")
    val before = contents(state)
    val result = condition(query.failure())
    assert(contents(state) == before, "something under state/ was touched")
    result
  }

  test("recovery_ a tampered spec is refused before anything under state/ is touched") {
    started { (_, query) =>
      val metadata = Paths.get(query.checkpoint, "state", "0", "_metadata", "v2", "0")
      Files.deleteIfExists(metadata.resolveSibling(".0.crc"))
      val text = new String(Files.readAllBytes(metadata), UTF_8)
      val tampered = text.replace("\\\"shares\\\":[1,1]", "\\\"shares\\\":[1,2]")
      assert(tampered != text, text)
      Files.write(metadata, tampered.getBytes(UTF_8))
      assert(refused(query)._1.startsWith("JOINLESS_STATE_MISMATCH"))
    }
  }

  test("recovery_ a changed query is refused before anything under state/ is touched") {
    started { (files, _) =>
      val other = new CollectedQuery(
        files,
        "SELECT a.src, b.dst, c.dst AS last FROM e a JOIN e b ON a.src = b.src JOIN e c ON b.dst = c.src"
      )
      assert(refused(other)._1.startsWith("JOINLESS_STATE_MISMATCH"))
    }
  }

  test("recovery_ a tree above the bound is named, and the checkpoint stays good") {
    started { (_, query) =>
      withConf("spark.joinless.cache.maxBytes" -> "5000") {
        val (name, parameters) = condition(query.failure())
        assert(name == "JOINLESS_STATE_TOO_LARGE" && parameters("limit") == "5000", parameters)
      }
      query.run()
      assert(query.rows == query.expected)
    }
  }
}
