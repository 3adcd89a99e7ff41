package io.joinless.spark.evolve

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.joinless.spark.TestFolders
import io.joinless.spark.api._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Row, SparkSession}

/** Three tables whose changes are files of a folder each: changelogs `t(k, g, x)` and `u(k, g)`,
  * and `a(k, y)`, to which rows are only appended.
  */
final private class EvolvingTables(spark: SparkSession) {
  private val folder = TestFolders.create("evolving")
  private val tables = Seq(
    new Table("t", Seq("k", "g", "x"), appended = false),
    new Table("u", Seq("k", "g"), appended = false),
    new Table("a", Seq("k", "y"), appended = true)
  )

  def checkpoint(name: String): String = folder.resolve(name).toString

  /** The tables under their names as streams. */
  def streams(): Unit = tables.foreach(_.stream())

  /** The tables under their names with their present rows. */
  def rows(): Unit = tables.foreach(_.batch())

  /** The first rows of all tables. */
  def begin(rng: Random): Unit = tables.foreach(_.change(rng))

  /** Random changes of some tables. */
  def change(rng: Random): Unit = tables.foreach(table => if (rng.nextInt(5) > 0) table.change(rng))

  /** Removes the files that a stream has had so far: whoever reads them again fails. */
  def remove(streams: Seq[String]): Unit =
    tables.filter(table => streams.exists(_.endsWith(table.folder.toString))).foreach(_.remove())

  final private class Table(name: String, columns: Seq[String], appended: Boolean) {
    val folder: Path = Files.createDirectories(EvolvingTables.this.folder.resolve(s"in-$name"))
    private val present = mutable.ArrayBuffer.empty[Seq[Integer]]
    private val files = mutable.ArrayBuffer.empty[Path]

    def change(rng: Random): Unit = {
      val inserted = Seq.fill(1 + rng.nextInt(6))(columns.map { _ =>
        if (rng.nextInt(9) == 0) null else Integer.valueOf(rng.nextInt(5))
      })
      val deleted =
        if (appended) Nil else Seq.fill(rng.nextInt(4).min(present.size))(present.remove(rng.nextInt(present.size)))
      present ++= inserted
      val lines = inserted.map(line(_, "insert")) ++ deleted.map(line(_, "delete"))
      val written = Files.write(folder.resolveSibling(s".$name-${files.size}"), rng.shuffle(lines).asJava)
      files += Files.move(written, folder.resolve(s"${files.size}.json"))
    }

    private def line(row: Seq[Integer], change: String): String = {
      val cells = columns.zip(row).collect { case (column, value) if value != null => s""""$column": $value""" }
      (cells :+ s""""_change_type": "$change"""").mkString("{", ", ", "}")
    }

    def remove(): Unit = files.foreach(Files.deleteIfExists(_))

    def stream(): Unit = {
      val all = columns.map(c => s"$c INT").mkString(", ")
      val read = spark.readStream.schema(if (appended) all else s"$all, _change_type STRING").json(folder.toString)
      (if (appended) read else read.changelog()).createOrReplaceTempView(name)
    }

    def batch(): Unit = {
      val schema = StructType.fromDDL(columns.map(c => s"$c INT").mkString(", "))
      spark.createDataFrame(present.map(Row.fromSeq(_)).asJava, schema).coalesce(1).createOrReplaceTempView(name)
    }
  }
}
