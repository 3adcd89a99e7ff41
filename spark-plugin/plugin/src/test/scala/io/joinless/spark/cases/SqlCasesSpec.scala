package io.joinless.spark.cases

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.api._
import io.joinless.spark.batches.MicroBatches
import io.joinless.spark.{SharedSpark, TestFolders}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.{BatchForms, TextRows}
import org.apache.spark.sql.types.{BooleanType, NumericType, StructField, StructType}
import org.scalatest.funsuite.AnyFunSuite

/** The cases of SQL that failed once (`tests/regressions/sql`): the result after each batch is the
  * expected answer.
  *
  * Run without a stream, with a restart before the last batch; the name of a case decides on the
  * partitions, one or two, and on the plans of the sources. tests/test_regressions.py runs them in
  * other ways, and checks the answers with the oracles.
  */
class SqlCasesSpec extends AnyFunSuite with SharedSpark {
  import SqlCaseFile._

  private type Bag = Map[Seq[Any], Long]

  for (file <- SqlCaseFile.all if file.kinds.contains("changelog"))
    test(s"the result is the answer behind each batch: ${file.name}") {
      if (file.failsIn("changelog-batches")) pendingUntilFixed(play(file)) else play(file)
    }

  test("values stand behind each other as SQL writes them") {
    val row = SqlCaseFile.values("1, 'it''s, so', NULL, -0.5, 'NULL', ''")
    assert(row == Seq(Some("1"), Some("it's, so"), None, Some("-0.5"), Some("NULL"), Some("")))
  }

  private def play(file: SqlCaseFile): Unit = {
    val session = spark.newSession()
    session.conf.set("spark.joinless.crossProducts.enabled", "true")
    session.conf.set("spark.joinless.minRelations", "1")
    val partitions = if (file.partitions > 0) file.partitions else 1 + Math.floorMod(file.name.hashCode, 2)
    session.conf.set("spark.sql.shuffle.partitions", partitions.toLong)
    val streams = file.tables.map { case (name, columns) => name -> new Feed(session, name, columns) }.toMap
    for (view <- file.latest)
      session.table(view.table).latest(Seq(view.key), Seq(view.order)).createOrReplaceTempView(view.name)
    val query = session.sql(file.query)
    val state = TestFolders.create("state").toString
    val forms = BatchForms.random(session, Seeds.of(file.name))
    val batches = new MicroBatches(session, query.incrementalEnumerate("weight"), state, forms)
    try {
      file.batches.zipWithIndex.foldLeft(Map.empty: Bag) { case (before, (batch, number)) =>
        if (number == file.batches.size - 1) batches.restart()
        val arrived = batch.changes.groupBy(_.table).map { case (table, changes) =>
          streams(table).folder.toString -> Seq(streams(table).add(changes))
        }
        val after = batches.play(arrived).foldLeft(before) { case (result, row) =>
          val key = row.toSeq.init
          result.updated(key, result.getOrElse(key, 0L) + row.getLong(row.length - 1))
        }.filter(_._2 != 0)
        val answer = batch.answer.groupMapReduce(TextRows(query.schema, _))(_ => 1L)(_ + _)
        assert(after == answer, s"behind ${batch.changes}")
        after
      }
      ()
    } finally batches.close()
  }

  /** A changelog in files of JSON, which a case fills. */
  final private class Feed(session: SparkSession, name: String, columns: String) {
    private val schema = StructType.fromDDL(columns)
    private var files = 0
    val folder: Path = TestFolders.create(name)

    session.readStream.schema(schema.add("_change_type", "string")).json(folder.toString)
      .changelog().createOrReplaceTempView(name)

    /** Adds a file; returns its name. */
    def add(changes: Seq[Change]): String = {
      val lines = changes.map { change =>
        val cells = schema.fields.toSeq.zip(change.row).map { case (field, text) => member(field, text) }
        (cells :+ s""""_change_type": "${if (change.inserted) "insert" else "delete"}"""").mkString("{", ", ", "}")
      }
      files += 1
      Files.write(folder.resolve(s"$files.json"), lines.asJava).toString
    }

    private def member(field: StructField, text: Option[String]): String = {
      val value = (text, field.dataType) match {
        case (None, _) => "null"
        case (Some(bare), _: NumericType | BooleanType) => bare
        case (Some(quoted), _) => "\"" + quoted.replace("\\", "\\\\").replace("\"", "\\\"") + "\""
      }
      s""""${field.name}": $value"""
    }
  }
}
