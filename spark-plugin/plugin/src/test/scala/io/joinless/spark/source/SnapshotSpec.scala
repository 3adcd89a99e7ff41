package io.joinless.spark.source

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import io.joinless.spark.{EdgeFiles, Specs}
import io.joinless.spark.changes.Changes
import io.joinless.spark.checkpoint.{OperatorMetadata, Recorded}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.spec.{BlockSpec, InputKind}
import org.apache.spark.SparkThrowable
import org.scalatest.funsuite.AnyFunSuite

/** Reads that are impossible, and the error of each. */
class SnapshotSpec extends AnyFunSuite with StoredResults {

  private val from = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  private val threeHops = s"SELECT a.src, b.dst, c.dst AS last $from"

  /** Condition and sentence of an error of ours, at any depth of the chain of causes. */
  private def failing(body: => Any): (String, String) = {
    val error = intercept[Exception](body)
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null)
      .collectFirst {
        case e: SparkThrowable if e.getCondition.startsWith("JOINLESS") => e.getCondition -> e.getMessage
      }
      .getOrElse(throw error)
  }

  private def reading(files: EdgeFiles, options: (String, String)*): (String, String) =
    failing(read(files, options: _*).collect())

  private def cp(files: EdgeFiles, path: String): Path = Paths.get(files.path("cp"), path)

  test("no such folder, no committed batch") {
    val files = new EdgeFiles(spark, "e")
    assert(reading(files)._1 == "JOINLESS_CHECKPOINT_NOT_FOUND.FOLDER")
    Files.createDirectory(Paths.get(files.path("cp")))
    assert(reading(files)._1 == "JOINLESS_CHECKPOINT_NOT_FOUND.NO_BATCH")
    assert(Files.list(Paths.get(files.path("cp"))).count() == 0, "reading wrote something")
  }

  test("checkpoints without a join of ours") {
    val spark3 =
      withConf("spark.joinless.enabled" -> "false")(ran("SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"))
    val (condition, sentence) = reading(spark3)
    assert(condition == "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN")
    assert(sentence.contains("Its stateful operators are Spark's own."))
    assert(reading(ran("SELECT src FROM e"))._2.contains("Its query has no stateful operator."))
  }

  test("batches that are not committed, or not any more") {
    val files = withConf("spark.sql.streaming.minBatchesToRetain" -> "2")(ran(threeHops, batches = 6))
    val kept =
      Files.list(cp(files, "commits")).iterator.asScala.map(_.getFileName.toString).flatMap(_.toLongOption).toSeq
    assert(kept.min > 0)
    val (cleaned, sentence) = reading(files, "batchId" -> "0")
    assert(cleaned == "JOINLESS_BATCH_NOT_AVAILABLE.CLEANED_UP")
    assert(sentence.contains(s"the batches ${kept.min} to ${kept.max} are there"))
    assert(reading(files, "batchId" -> "6")._1 == "JOINLESS_BATCH_NOT_AVAILABLE.NOT_COMMITTED")
    assert(read(files, "batchId" -> "5").count() == read(files).count())
    Files.list(cp(files, "state/0/0")).iterator.asScala.toSeq.foreach(Files.delete)
    assert(reading(files)._1 == "JOINLESS_BATCH_NOT_AVAILABLE.STATE_GONE")
  }

  test("a batch whose commit is missing is not there, though its state is") {
    val files = ran(threeHops)
    val before = rows(read(files, "batchId" -> "1"))
    Files.delete(cp(files, "commits/2"))
    assert(rows(read(files)) == before)
    assert(reading(files, "batchId" -> "2")._1 == "JOINLESS_BATCH_NOT_AVAILABLE.NOT_COMMITTED")
  }

  test("several joins need a choice") {
    val f = "FROM e a JOIN e b ON a.src = b.src JOIN e c ON b.src = c.src"
    val files = ran(s"$threeHops UNION ALL SELECT a.src, b.dst, c.dst $f")
    val (condition, sentence) = reading(files)
    assert(condition == "JOINLESS_SEVERAL_JOINS")
    assert(sentence.contains("0 (a, b, c), 1 (a, b, c)"))
    val parts = Seq("0", "1").map(operator => rows(read(files, "operator" -> operator)))
    assert(Set(parts: _*) == Set(files.expected(threeHops), files.expected(s"SELECT a.src, b.dst, c.dst $f")))
    assert(reading(files, "operator" -> "2")._1 == "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN")
  }

  test("a query that fits several joins of a checkpoint needs a choice") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    def streaming(sql: String) = Changes.deltas(files.streaming(sql), DeltaForm.ChangeType)
    // a condition on two relations may be another one; single-row conditions that it implies would
    // not be stored
    val fitting = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src WHERE a.src <= 3 AND b.dst IS NOT NULL"
    run(files, streaming(fitting).union(streaming(s"$fitting AND a.src < b.dst")))
    def full(sql: String, operator: Option[Long] = None) =
      FullResult(files.streaming(sql), files.path("cp"), None, operator)
    val (condition, sentence) = failing(full(fitting))
    assert(condition == "JOINLESS_SEVERAL_JOINS")
    assert(sentence.contains("0 (a, b), 1 (a, b)") && sentence.contains("operator="), sentence)
    for (operator <- Seq(0L, 1L)) assert(rows(full(fitting, Some(operator))) == files.expected(fitting))
    assert(failing(full(fitting, Some(7L)))._2.contains("Its operator 7 is none of the joins 0 (a, b), 1 (a, b)"))
    val other = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.dst"
    assert(failing(full(other, Some(1L)))._1.startsWith("JOINLESS_STATE_MISMATCH"))
    val (mismatch, none) = failing(full(other))
    assert(mismatch.startsWith("JOINLESS_STATE_MISMATCH") && none.contains("None of its joins fits. 0 (a, b): "), none)
  }

  test("where one of several joins would fit if it had evicted no rows, that is said") {
    val first = Specs.timed(InputKind.Appended)
    def renamed(spec: BlockSpec, suffix: String) =
      spec.shaped(s => s.copy(relations = s.relations.map(r => r.copy(name = r.name + suffix))))
    def keeping(spec: BlockSpec) =
      spec.shaped(s => s.copy(relations = s.relations.map(_.copy(lifetime = None))))
    def choice(recorded: BlockSpec*)(planned: BlockSpec, position: Int): (String, String) = {
      val blocks = recorded.zipWithIndex.map { case (spec, i) => Recorded(spec, i.toLong, spec.cells) }
      val found = OperatorMetadata.Found(blocks, Nil, sparkOperators = false, batch = 1)
      failing(Snapshot.fitting(found, "/cp", keeping(planned).shape, BlockPlace(position, recorded.size), None))
    }
    val second = renamed(first, "2")
    for ((planned, position) <- Seq(first -> 0, second -> 1)) {
      val (condition, sentence) = choice(first, second)(planned, position)
      assert(condition == "JOINLESS_ROWS_FORGOTTEN", sentence)
      val names = planned.relations.map(_.name).mkString(", ")
      assert(sentence.contains(s"rows of $names when no later row can join them"), sentence)
    }
    assert(choice(Specs.threeHops, first)(first, 0)._1 == "JOINLESS_ROWS_FORGOTTEN")
    val (other, none) = choice(first, second)(Specs.threeHops, 0)
    assert(other.startsWith("JOINLESS_STATE_MISMATCH") && none.contains("None of its joins fits."), none)
  }

  test("of two joins that differ in their filters, a query fits the one with its own") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    def side(from: String) = s"SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src WHERE a.src $from"
    def streaming(sql: String) = Changes.deltas(files.streaming(sql), DeltaForm.ChangeType)
    run(files, streaming(side("<= 3")).union(streaming(side("> 3"))))
    for (from <- Seq("<= 3", "> 3"))
      assert(rows(FullResult(files.streaming(side(from)), files.path("cp"), None)) == files.expected(side(from)))
  }

  test("a checkpoint of a newer format") {
    val files = ran(threeHops)
    val metadata = Files.list(cp(files, "state/0/_metadata/v2")).iterator.asScala.toSeq
    metadata.filter(_.getFileName.toString.endsWith(".crc")).foreach(Files.delete)
    metadata.filterNot(_.getFileName.toString.endsWith(".crc")).foreach { file =>
      Files.writeString(file, Files.readString(file).replace("specVersion\\\":2", "specVersion\\\":99"))
    }
    assert(reading(files)._1 == "JOINLESS_STATE_MISMATCH.FORMAT")
  }

  test("a view tree above the bound") {
    val files = ran(threeHops)
    withConf("spark.joinless.cache.maxBytes" -> "100") {
      assert(reading(files)._1 == "JOINLESS_STATE_TOO_LARGE")
    }
    assert(read(files).count() > 0)
  }

  test("conditions that other sessions would not understand are not read, and said so") {
    spark.udf.register("near", (a: Long, b: Long) => math.abs(a - b) < 9)
    val (condition, sentence) = reading(ran(s"$threeHops WHERE near(a.src, c.dst)"))
    assert(condition == "JOINLESS_RESULT_NOT_RECORDED")
    assert(sentence.contains("near("), sentence)
    spark.udf.register("twice", (a: Long) => a * 2)
    assert(reading(ran(s"SELECT twice(a.src + c.dst) AS two, c.dst $from"))._2.contains("the column two"))
  }

  test("options that make no sense") {
    val files = ran(threeHops, batches = 1)
    assert(reading(files, "batchId" -> "last")._1 == "JOINLESS_INVALID_OPTION")
    assert(reading(files, "inputs" -> "d")._2.contains("the join has the relations a, b, c"))
    assert(reading(files, "batch" -> "0")._2.contains("Did you mean batchId?"))
    assert(failing(spark.read.format("joinless").load())._1 == "JOINLESS_INVALID_OPTION")
    assert(rows(spark.read.format("joinless").load(files.path("cp"))) == rows(read(files)))
  }

  test("the texts of a run mean what its settings said, whatever the reader's") {
    val sql = s"SELECT CAST(CAST(a.src AS STRING) || '-' AS INT) AS none, b.src / (c.dst - c.dst) AS nothing, " +
      s"CAST(to_timestamp(b.dst) AS STRING) AS at $from"
    val files = withConf("spark.sql.ansi.enabled" -> "false", "spark.sql.session.timeZone" -> "Asia/Tokyo")(ran(sql))
    val expected =
      withConf("spark.sql.ansi.enabled" -> "false", "spark.sql.session.timeZone" -> "Asia/Tokyo")(files.expected(sql))
    assert(rows(read(files)) == expected)
    assert(expected.head.startsWith("[null,null,1970-01-01 09:"), expected.head)
  }
}
