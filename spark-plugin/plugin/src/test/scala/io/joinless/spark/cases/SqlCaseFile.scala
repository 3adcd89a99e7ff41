package io.joinless.spark.cases

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.joinless.engine.oracle.CaseFile

/** A case of SQL as a file, as far as runs over changelogs need it.
  * `tests/regressions/sql/README.md` describes the format, `tests/support/sql_case.py` reads all of
  * it.
  *
  * @param tables the columns of each table as DDL
  * @param partitions 0 if the file has no number
  * @param fails prefixes of the names of runs that are known to fail
  */
final case class SqlCaseFile(
    name: String,
    kinds: Seq[String],
    tables: Seq[(String, String)],
    latest: Seq[SqlCaseFile.Latest],
    partitions: Int,
    fails: Seq[String],
    query: String,
    batches: Seq[SqlCaseFile.Batch]
) {

  /** Whether a run is known to fail; `tests/support/sql_plays.py` names runs. */
  def failsIn(play: String): Boolean = fails.exists(play.startsWith)
}

object SqlCaseFile {
  type Texts = Seq[Option[String]]

  final case class Change(table: String, row: Texts, inserted: Boolean)
  final case class Batch(changes: Seq[Change], answer: Seq[Texts])
  final case class Latest(name: String, table: String, key: String, order: String)

  private val Folder = CaseFile.root.resolve("tests").resolve("regressions").resolve("sql")

  def all: Seq[SqlCaseFile] = {
    val files = Files.list(Folder)
    try files.iterator.asScala.filter(_.toString.endsWith(".case")).toSeq.sorted.map(read)
    finally files.close()
  }

  private def read(path: Path): SqlCaseFile =
    parse(path.getFileName.toString.stripSuffix(".case"), Files.readAllLines(path).asScala.toSeq)

  private[cases] def parse(name: String, text: Seq[String]): SqlCaseFile = {
    val lines = text.map(_.stripTrailing).filterNot(_.startsWith("#"))
    val head = lines.takeWhile(_ != "query")
    def settings(name: String) = head.filter(_.startsWith(s"$name ")).map(_.drop(name.length).trim)
    def words(text: String) = text.split("[,\\s]+").toSeq
    SqlCaseFile(
      name,
      settings("kind").flatMap(words) match { case Nil => Seq("changelog"); case kinds => kinds },
      settings("table").map(text => (text.takeWhile(c => c != '(' && c != ' '), inParentheses(text))),
      settings("latest").map(words).map(w => Latest(w(0), table = w(2), key = w(4), order = w(6))),
      settings("partitions").headOption.fold(0)(_.toInt),
      settings("fails").flatMap(text => words(text.takeWhile(_ != ':').trim)),
      lines.dropWhile(_ != "query").drop(1).takeWhile(_.nonEmpty).mkString("\n"),
      batches(lines.dropWhile(_ != "batch").filter(_.nonEmpty))
    )
  }

  private def inParentheses(text: String): String = text.drop(text.indexOf('(') + 1).init

  private def batches(lines: Seq[String]): Seq[Batch] =
    if (lines.isEmpty) Nil
    else {
      val (batch, rest) = lines.tail.span(_ != "batch")
      val (changes, answer) = batch.span(_ != "----")
      assert(answer.nonEmpty, "a batch has no answer")
      Batch(changes.map(change), answer.drop(1).map(values)) +: batches(rest)
    }

  private def change(line: String): Change = {
    val parts = line.split(" ", 3)
    assert(Set("+", "-")(parts(0)), line)
    Change(parts(1), values(parts(2)), parts(0) == "+")
  }

  private val value = """\s*(?:'((?:[^']|'')*)'|([^,']*[^,'\s]))\s*(?:,|$)""".r

  /** The values of a row, which are separated by commas. */
  private[cases] def values(row: String): Texts = {
    val found = value.findAllMatchIn(row).toSeq
    assert(found.map(_.matched).mkString == row, s"no values: $row")
    found.map(m =>
      Option(m.group(1)).map(_.replace("''", "'")).orElse(Some(m.group(2)).filterNot(_.equalsIgnoreCase("null")))
    )
  }
}
