package io.joinless.spark.recovery

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.attribute.FileTime
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.spec.{OriginSpec, StateFormat}
import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.json4s.JsonAST.JString
import org.json4s.jackson.JsonMethods.{compact, parse, render}
import org.scalatest.funsuite.AnyFunSuite

/** Checkpoints of the current format, committed to the repository as they were written: this
  * release must read them, continue them, and write the same. A change of the format is detected
  * here, and must be made on purpose: with a new version that still reads the old one.
  *
  * {{{JOINLESS_REGENERATE_CHECKPOINTS=1 sbt "plugin/testOnly *GoldenCheckpointSpec"}}}
  *
  * Others are not regenerated: those of version 1 of the block's format; and, ''unmerged'', of
  * before small blocks of the log were merged.
  */
class GoldenCheckpointSpec extends AnyFunSuite with SharedSpark {
  import GoldenCheckpointSpec._

  private val folder = Paths.get("src/test/resources/golden-checkpoints")

  /** A self-join of three with rows of varying length, NULLs, equal rows, a filter and a residual
    * condition.
    */
  private val sql =
    "SELECT a.src, b.note, c.dst FROM g a JOIN g b ON a.dst = b.src JOIN g c ON b.dst = c.src WHERE c.dst > 1 AND a.src <> c.dst"

  /** A stream of one file per batch and the query's checkpoint, in a folder of their own. */
  final private class Query(changelog: Boolean) {
    val root: Path = TestFolders.create("golden")
    private val input = Files.createDirectory(root.resolve("in"))
    val checkpoint: Path = root.resolve("cp")
    private var batches = Map.empty[Long, Seq[String]]

    def add(batch: Int): Unit = {
      val rows =
        if (changelog) Emitted(batch) else Emitted(batch).filter(_.startsWith("insert")).map(_.stripPrefix("insert,"))
      val hidden = Files.write(root.resolve(s"$batch.csv"), rows.asJava)
      Files.setLastModifiedTime(hidden, FileTime.fromMillis(1000000000000L + batch * 1000L))
      val _ = Files.move(hidden, input.resolve(s"$batch.csv"))
    }

    def run(): Unit = {
      val schema = (if (changelog) "_change_type STRING, " else "") + "src BIGINT, dst BIGINT, note STRING"
      val read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv(input.toString)
      (if (changelog) Changes.changelog(read, None, None) else read).createOrReplaceTempView("g")
      val df = spark.sql(sql)
      val emitted = if (changelog) Changes.deltas(df, DeltaForm.ChangeType) else df
      val write: (Dataset[Row], Long) => Unit = (rows, batch) => batches += batch -> texts(rows)
      val query = emitted.writeStream.option("checkpointLocation", checkpoint.toString).foreachBatch(write)
        .trigger(Trigger.AvailableNow()).start()
      query.awaitTermination()
    }

    def written(batch: Long): Seq[String] = batches.getOrElse(batch, Nil)

    /** The files of a run that do not depend on the run: our operator's metadata, and which scans
      * share a source.
      */
    def recorded: Seq[String] =
      Seq("state/0/_metadata/v2/0", "joinless/sources").map { f =>
        moved(f, Files.readString(checkpoint.resolve(f)), root.toString, Anywhere).replaceAll(Uuid, "uuid")
      }
  }

  private def texts(df: DataFrame): Seq[String] = df.collect().map(_.toString).toSeq.sorted

  /** The result after some batches, by Spark in batch. */
  private def result(changelog: Boolean, batches: Int): Seq[String] = {
    val all = (0 until batches).flatMap(Emitted)
    val gone = if (changelog) all.filter(_.startsWith("delete")).map(_.stripPrefix("delete,")) else Nil
    val left = all.filter(_.startsWith("insert")).map(_.stripPrefix("insert,")).diff(gone)
    val session = spark
    import session.implicits._
    spark.read.schema("src BIGINT, dst BIGINT, note STRING").csv(left.toDS()).createOrReplaceTempView("g")
    texts(spark.sql(sql))
  }

  /** Per cell, the changes to its store as Spark's default one has written them in the second
    * batch.
    */
  private def secondDeltas(checkpoint: Path): Seq[Seq[Byte]] =
    (0 until 2).map(cell => Files.readAllBytes(checkpoint.resolve(s"state/0/$cell/2.delta")).toSeq)

  for ((kind, changelog) <- Seq("appended" -> false, "changelog" -> true); age <- Seq(Newest, Version1, Unmerged)) {
    val name = kind + age
    test(s"recovery_ a committed checkpoint is read and goes on; the newest is what this release writes: $name") {
      withConf("spark.sql.shuffle.partitions" -> "2") {
        val golden = folder.resolve(name)
        val fresh = new Query(changelog)
        (0 to 1).foreach(fresh.add)
        fresh.run()
        if (sys.env.contains("JOINLESS_REGENERATE_CHECKPOINTS") && age == Newest) {
          FileUtils.deleteDirectory(golden.toFile)
          copy(fresh.checkpoint, golden, fresh.root.toString, Anywhere)
        }

        val old = new Query(changelog)
        (0 to 1).foreach(old.add)
        copy(golden, old.checkpoint, Anywhere, old.root.toString)
        val before = result(changelog, 2)
        assert(before.nonEmpty)
        assert(texts(spark.read.format("joinless").load(old.checkpoint.toString)) == before)
        assert((old.recorded == fresh.recorded) == (age == Newest))
        assert((secondDeltas(golden) == secondDeltas(fresh.checkpoint)) == (age != Unmerged))

        old.add(2)
        old.run()
        val after = result(changelog, 3)
        if (!changelog) assert(old.written(2) == after.diff(before))
        else {
          val (lost, gained) = (before.diff(after), after.diff(before))
          assert(lost.nonEmpty && gained.nonEmpty)
          val emitted = lost.map(_.stripSuffix("]") + ",delete]") ++ gained.map(_.stripSuffix("]") + ",insert]")
          assert(old.written(2) == emitted.sorted)
        }
      }
    }
  }
}

object GoldenCheckpointSpec {

  /** The age of a checkpoint: the end of its folder's name. */
  private val Newest = ""
  private val Version1 = "-v1"
  private val Unmerged = "-unmerged"

  /** The rows that each batch emits; without deletes for the append-only stream. */
  private val Emitted: IndexedSeq[Seq[String]] = IndexedSeq(
    Seq("insert,1,2,x", "insert,2,3,", "insert,3,1,a longer note than the others", "insert,,2,y", "insert,2,3,"),
    Seq("delete,3,1,a longer note than the others", "insert,3,4,z", "insert,4,2,x", "insert,1,,x", "delete,2,3,"),
    Seq("delete,1,2,x", "insert,5,2,w", "insert,3,5,a longer note than the others", "delete,1,,x")
  )

  /** Replaces the folder of checkpoint and input. */
  private val Anywhere = "/golden"

  private val Uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

  /** The text of a file with another folder in it. A block's spec is written anew: it has a digest
    * of itself.
    */
  private def moved(file: String, text: String, folder: String, to: String): String = {
    val renamed = if (!file.contains("_metadata/v2")) text
    else {
      val (version, metadata) = text.splitAt(text.indexOf('{'))
      val edited = parse(metadata).transformField {
        case ("operatorPropertiesJson", JString(spec)) =>
          val shaped = StateFormat.fromJson(spec).shaped(shape =>
            shape.having(
              OriginSpec,
              shape.origins.map(_.map(o => o.copy(places = o.places.map(_.replace(folder, to)))))
            )
          )
          // texts of an earlier release stay unchanged
          ("operatorPropertiesJson", JString(if (shaped.shape.origins.isEmpty) spec else StateFormat.toJson(shaped)))
      }
      s"$version${compact(render(edited))}"
    }
    renamed.replace(folder, to)
  }

  /** Copies a checkpoint without checksum files; in texts that name files, the folder is replaced.
    */
  private def copy(from: Path, to: Path, folder: String, now: String): Unit = {
    val walk = Files.walk(from)
    val files = walk.iterator.asScala.filter(Files.isRegularFile(_)).map(from.relativize).toSeq
    walk.close()
    files.filterNot(_.getFileName.toString.endsWith(".crc")).foreach { f =>
      val bytes = Files.readAllBytes(from.resolve(f))
      val names = f.startsWith("sources") || f.toString.contains("_metadata")
      Files.createDirectories(to.resolve(f).getParent)
      Files.write(
        to.resolve(f),
        if (names) moved(f.toString, new String(bytes, UTF_8), folder, now).getBytes(UTF_8) else bytes
      )
    }
  }
}
