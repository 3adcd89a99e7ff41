package io.joinless.spark.errors

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import scala.io.Source
import scala.jdk.CollectionConverters._

import org.apache.spark.SparkThrowable
import org.json4s.JsonAST.JObject
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class JoinlessErrorsSpec extends AnyFunSuite {

  private val kinds =
    Seq(
      Mismatch.Query,
      Mismatch.Tree,
      Mismatch.Format,
      Mismatch.Cells,
      Mismatch.Columns,
      Mismatch.Filter,
      Mismatch.Unreadable
    )

  /** The errors of targets, with their parameters. */
  private val ofTargets: Seq[(String, Seq[String])] = Seq(
    "CHECKPOINT_BEHIND" -> Seq("newest", "app_id", "batch"),
    "COLUMNS_DIFFER" -> Seq("result", "columns"),
    "COLUMN_NAME" -> Seq("column"),
    "KEY_NOT_UNIQUE" -> Seq("key", "found"),
    "NOT_NULL_PART" -> Seq("column", "type"),
    "NO_APP_ID" -> Seq(),
    "NO_CHANGES" -> Seq("columns"),
    "NO_DELTA" -> Seq("found"),
    "PADDED_TYPE" -> Seq("column", "type"),
    "ROW_NOT_IN_TARGET" -> Seq("present", "row", "change"),
    "TARGET_GONE" -> Seq("checkpoint"),
    "TARGET_IS_READ" -> Seq(),
    "TARGET_NAME" -> Seq(),
    "TARGET_NOT_DELTA" -> Seq("format"),
    "TARGET_NOT_EMPTY" -> Seq(),
    "TARGET_NOT_FOUND" -> Seq("columns"),
    "TARGET_REPLACED" -> Seq("batch", "app_id"),
    "TARGET_TAKEN" -> Seq("app_id", "writer"),
    "UNKNOWN_CHANGE_TYPE" -> Seq("found"),
    "UNKNOWN_KEY" -> Seq("key", "columns"),
    "UNSUPPORTED_TYPE" -> Seq("column", "type"),
    "VALUE_NOT_KEPT" -> Seq("value")
  )

  private val all: Seq[Throwable with SparkThrowable] = Seq(
    JoinlessErrors.notRewritten("NON_EQUI_JOIN", "a and b share no equi-join condition.", ""),
    JoinlessErrors.invalidShares("a.x=3", "the join has no attribute a.x"),
    JoinlessErrors.notStreaming(),
    JoinlessErrors.extensionNotInstalled(),
    JoinlessErrors.sparkVersion("3.5.1", "4.2", "classes differ"),
    JoinlessErrors.corruptBlock(7, 3, 11, "its length is odd"),
    JoinlessErrors.noCheckpoint("/cp"),
    JoinlessErrors.noBatch("/cp"),
    JoinlessErrors.noJoin("/cp", "It has no stateful operator."),
    JoinlessErrors.batchNotRead(3, 1, 4),
    JoinlessErrors.rowsNotStored("Range (0, 10)"),
    JoinlessErrors.rowsForgotten("cp", Seq("a", "b")),
    JoinlessErrors.expiry("AMBIGUOUS", "ts", "orders"),
    JoinlessErrors.expiry("ARGUMENTS", "ts", "orders"),
    JoinlessErrors.expiry("TWICE", "ts", "orders"),
    JoinlessErrors.expiry("INTERVAL", "ts", "orders", "after" -> "'1 month'"),
    JoinlessErrors.expiry("NOT_A_TIMESTAMP", "ts", "orders", "type" -> "INT"),
    JoinlessErrors.expiry("NOT_FOUND", "ts", "orders", "columns" -> "a, b", "suggestion" -> ""),
    JoinlessErrors.expiry("NO_WATERMARK", "ts", "orders", "quoted" -> "\"ts\""),
    JoinlessErrors.batchNotAvailable(2, "/cp", Seq(3L, 4L)),
    JoinlessErrors.batchNotAvailable(5, "/cp", Seq(4L)),
    JoinlessErrors.stateMissing(3, "/cp", 1, new RuntimeException("no file\nat all")),
    JoinlessErrors.stateNotLoaded(0, 1, 3, new RuntimeException("loading", new RuntimeException("no file\nat all"))),
    JoinlessErrors.unreachableCheckpoint("nosuch://cp", new RuntimeException("No FileSystem for scheme \"nosuch\"")),
    JoinlessErrors.format("SCHEMA", "given" -> "a INT", "columns" -> "b INT"),
    JoinlessErrors.format("SINK"),
    JoinlessErrors.format("STREAM"),
    JoinlessErrors.severalJoins("/cp", "0 (a, b), 1 (c, d)"),
    JoinlessErrors.resultNotRecorded("/cp", "its column x is not recorded"),
    JoinlessErrors.invalidOption("batchId", "x", "it must be a number"),
    JoinlessErrors.countBeyond64Bits(1, BigInt(2).pow(62), 4),
    JoinlessErrors.countBeyond127Bits(1),
    JoinlessErrors.lookup("AMBIGUOUS_COLUMN", "column" -> "x"),
    JoinlessErrors.lookup("KEY_TYPE", "column" -> "x", "type" -> "DATE", "columnType" -> "INT"),
    JoinlessErrors.lookup("NO_COLUMN"),
    JoinlessErrors.lookup("NO_RESULT"),
    JoinlessErrors.lookup("ROW", "columns" -> "x"),
    JoinlessErrors.lookup("STREAM"),
    JoinlessErrors.lookup("UNKNOWN_COLUMN", "column" -> "x", "columns" -> "y", "suggestion" -> " Did you mean y?"),
    JoinlessErrors.lookup("VALUE", "value" -> "1", "type" -> "INT", "column" -> "x", "columnType" -> "DATE"),
    JoinlessErrors.onDemand("NO_RESULT"),
    JoinlessErrors.onDemand("OFFSET", "offset" -> "-1"),
    JoinlessErrors.onDemand("PAGE_SIZE", "size" -> "-1"),
    JoinlessErrors.onDemand("SAMPLE_SIZE", "size" -> "0", "most" -> "10"),
    JoinlessErrors.onDemand("STREAM"),
    JoinlessErrors.deleteOfAbsentRow("orders", "id=7, name=NULL", 0, -1),
    JoinlessErrors.weightOverflow(),
    JoinlessErrors.argumentFails("(x * 4L)", "t"),
    JoinlessErrors.sampleSize("0", 100),
    JoinlessErrors.sampleArguments("TABLE(t), -1"),
    JoinlessErrors.outerWith("lookup"),
    JoinlessErrors.tableFunction("changelog", "changelog(TABLE(feed), op)", "TABLE(...), 5"),
    JoinlessErrors.key("BELOW", "source" -> "orders"),
    JoinlessErrors.key("COLUMN_AMBIGUOUS", "source" -> "orders", "column" -> "id"),
    JoinlessErrors.key(
      "COLUMN_NOT_FOUND",
      "source" -> "orders",
      "column" -> "id",
      "columns" -> "a",
      "suggestion" -> ""
    ),
    JoinlessErrors.key("COLUMN_TWICE", "source" -> "orders", "column" -> "id"),
    JoinlessErrors.key("COLUMN_TYPE", "source" -> "orders", "column" -> "id", "type" -> "VARIANT"),
    JoinlessErrors.key("NO_CHANGES", "source" -> "orders"),
    JoinlessErrors.key("NO_COLUMNS", "source" -> "orders", "columns" -> "id"),
    JoinlessErrors.key("TWICE", "source" -> "orders", "known" -> "id"),
    JoinlessErrors.keyViolation("orders", Seq("shop", "id"), "shop=1, id=2", 2),
    JoinlessErrors.sampleBy("COLUMN_AMBIGUOUS", "column" -> "city"),
    JoinlessErrors.sampleBy("COLUMN_NOT_FOUND", "column" -> "city", "columns" -> "id", "suggestion" -> ""),
    JoinlessErrors.sampleBy("COLUMN_TWICE", "column" -> "city"),
    JoinlessErrors.sampleBy("COLUMN_TYPE", "column" -> "tags", "type" -> "MAP<STRING, STRING>"),
    JoinlessErrors.sampleBy("NO_COLUMNS", "columns" -> "id, city"),
    TableErrors.tableFormat("orders", "parquet"),
    TableErrors.tableFeed("orders", "ALTER TABLE orders", new IllegalStateException("no right to write")),
    TableErrors.tableColumn("orders", "_metadata"),
    TableErrors.notAQuery("DROP TABLE orders"),
    TableErrors.nothingChanges("SELECT 1"),
    TableErrors.verifyStream("SELECT * FROM clicks"),
    TableErrors.verifySample("SELECT * FROM sample(TABLE(orders), 10)"),
    TableErrors.verifyReplaced("orders"),
    TableErrors.verifyFirstRows("orders"),
    TableErrors.verifyVersions("orders", Seq(4, 5)),
    JoinlessErrors.twoChangeColumns("n", "_change_type", "orders"),
    JoinlessErrors.streamInSubquery("b"),
    JoinlessErrors.streamNotStarted("it emits the changes of a result"),
    JoinlessErrors.queryNotActive("totals", Seq("paths")),
    JoinlessErrors.queryAmbiguous("totals", Seq("1", "2")),
    JoinlessErrors.unknownConf("spark.joinless.shares", Seq("spark.joinless.placement.shares")),
    JoinlessErrors.stateTooLarge(2, 10, 5)
  ) ++ Seq("AMBIGUOUS", "NO_COLUMNS").map(JoinlessErrors.changeColumn(_, "c", "orders")) ++
    Seq("NOT_A_STRING", "NOT_AN_INTEGER").map(JoinlessErrors.changeColumn(_, "c", "orders", "MAP<INT, INT>")) ++ Seq(
      JoinlessErrors.noChangeColumn("_change_type", "orders", Seq("id", "_change_typ")),
      JoinlessErrors.reservedColumn("_weight"),
      JoinlessErrors.retractionsNotRepresentable("a, b"),
      JoinlessErrors.unknownChangeType(Some("upsert"), "orders"),
      JoinlessErrors.unknownWeight("orders"),
      EvolveErrors.begun("/cp"),
      EvolveErrors.otherQuery("/cp"),
      TableErrors.staticTableChanged("rates"),
      TableErrors.verifyStatic("rates"),
      ViewErrors.notAView("orders"),
      ViewErrors.noBatch("totals"),
      ViewErrors.running("totals", "totals", "0a1b"),
      ViewErrors.runningOther("totals", "totals"),
      ViewErrors.noCheckpoint("totals", "/totals/_joinless"),
      ViewErrors.tables("totals", "File /orders/_delta_log does not exist"),
      ViewErrors.noQuery("totals", Seq("clicks")),
      ViewErrors.noNewQuery("totals", Nil),
      ViewErrors.dropOfPath("delta.`/totals`", "/totals"),
      ViewErrors.trigger("often"),
      ViewErrors.otherDatabase("totals", "sales", "default"),
      ViewErrors.cells(0),
      ViewErrors.columns("totals", Seq("n"), Seq("m")),
      ViewErrors.noProcedure("verfy", Seq("status", "verify")),
      ViewErrors.noValue("verify", "view"),
      ViewErrors.twoQueries("materialize"),
      ViewErrors.numberOfRows("verify", "differences", "-1", 100),
      KafkaErrors.arguments("COLUMN_NOT_FOUND", "column" -> "ID", "columns" -> "id", "suggestion" -> ""),
      KafkaErrors.arguments("COLUMN_TWICE", "column" -> "id"),
      KafkaErrors.arguments("COLUMN_TYPE", "column" -> "m", "type" -> "MAP<INT, INT>", "types" -> "INT, STRING"),
      KafkaErrors.arguments("DDL", "schema" -> "id", "what" -> "Syntax error"),
      KafkaErrors.arguments("NO_COLUMNS"),
      KafkaErrors.arguments(
        "SOURCE",
        "column" -> "value",
        "source" -> "shop",
        "what" -> "is missing",
        "type" -> "BINARY or STRING"
      ),
      KafkaErrors.keyNotUnique("id", "{\"id\":1}"),
      KafkaErrors.upserts("COLUMN_AMBIGUOUS", "column" -> "id"),
      KafkaErrors.upserts("COLUMN_NOT_FOUND", "column" -> "ID", "columns" -> "id", "suggestion" -> ""),
      KafkaErrors.upserts("NO_CHANGES"),
      JoinlessErrors.deltaForm("rows")
    ) ++ kinds.map(JoinlessErrors.stateMismatch(_, "/cp", "Something differs.")) ++ ofTargets.map {
      case (what, parameters) =>
        TargetErrors.of(what, "totals", parameters.map(_ -> "x"): _*)
    } ++ Seq(
      "KEY_CHANGED" -> Seq("column" -> "id"),
      "MALFORMED" -> Seq("what" -> "it is no JSON"),
      "NO_BEFORE" -> Seq("operation" -> "u"),
      "NO_COLUMN" -> Seq("column" -> "city", "columns" -> "id"),
      "NO_KEY" -> Nil,
      "OPERATION" -> Seq("operation" -> "x"),
      "OTHER_KEY" -> Seq("column" -> "shop", "key" -> "id"),
      "TOMBSTONE" -> Seq("column" -> "city"),
      "TRUNCATED" -> Nil,
      "UNAVAILABLE" -> Seq("column" -> "note"),
      "VALUE" -> Seq("value" -> "1.5", "column" -> "id", "type" -> "INT", "why" -> "it is no whole number")
    ).map { case (subclass, more) => KafkaErrors.message(subclass, "A record of shop", more) }

  test("every condition of the file is raised by a method, and renders without open parameters") {
    val raised = all.map(_.getCondition)
    val text = Source.fromResource("error/joinless-error-conditions.json").mkString
    val conditions = parse(text) match {
      case JObject(fields) =>
        fields.flatMap { case (name, value) =>
          value \ "subClass" match {
            case JObject(subclasses) => subclasses.map { case (sub, _) => s"$name.$sub" }
            case _ => Seq(name)
          }
        }
      case other => fail(s"no object: $other")
    }
    assert(conditions.filterNot(raised.toSet).isEmpty, "conditions that this test does not raise")
    assert(raised.filterNot(conditions.toSet).isEmpty, "errors without a condition")
    all.foreach { error =>
      assert(error.getMessage.startsWith(s"[${error.getCondition}] "))
      assert(error.getMessage.endsWith(s"SQLSTATE: ${error.getSqlState}"))
      assert(error.getSqlState.matches("[0-9A-Z]{5}"))
      assert(!error.getMessage.matches("(?s).*<[a-z]+>.*"), error.getMessage)
      assert(!error.isInternalError)
    }
  }

  test("a slip of the pen has a suggestion, another name has none") {
    val confs = Seq("spark.joinless.mode", "spark.joinless.minRelations", "spark.joinless.placement.shares")
    def message(conf: String) = JoinlessErrors.unknownConf(conf, confs).getMessage
    assert(
      message("spark.joinless.MINRELATION").contains("release of Joinless. Did you mean spark.joinless.minRelations? ")
    )
    assert(message("spark.joinless.placement.share").contains("Did you mean spark.joinless.placement.shares?"))
    assert(message("spark.joinless.vectorized").contains("release of Joinless. Unset it"))
    val option = JoinlessErrors.unknownOption("batch", "3", Seq("batchId", "inputs")).getMessage
    assert(option.contains("no such option. Did you mean batchId? Known are batchId, inputs."), option)
  }

  test("parameters are the values named in the sentence") {
    val error = JoinlessErrors.corruptBlock(7, 3, 11, "its length is odd")
    assert(error.getMessageParameters.asScala == Map(
      "block" -> "7",
      "cell" -> "3",
      "batch" -> "11",
      "what" -> "its length is odd"
    ))
    assert(error.getMessage.contains("Block 7 of cell 3, of the state after batch 11, is corrupt: its length is odd."))
    assert(JoinlessErrors.notRewritten("R", "S.", "").getMessage.contains("for reason R: S. Set spark.joinless.mode"))
  }

  test("errors of tasks reach the driver with their condition") {
    all.foreach { error =>
      val bytes = new ByteArrayOutputStream
      new ObjectOutputStream(bytes).writeObject(error)
      val copy = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject
      assert(copy.asInstanceOf[SparkThrowable].getCondition == error.getCondition)
      assert(copy.asInstanceOf[Throwable].getMessage == error.getMessage)
    }
  }
}
