package io.joinless.spark.source

import java.nio.file.{Files, Path, Paths}

import io.joinless.spark.EdgeFiles
import io.joinless.spark.spec.StateFormatFuzzSpec
import io.joinless.spark.state.SignedText
import org.apache.spark.SparkThrowable
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, parse, render}
import org.scalatest.funsuite.AnyFunSuite

/** Checkpoints that an attacker made to be read by others: none of their code is run. */
class StrangersCheckpointSpec extends AnyFunSuite with StoredResults {

  private val threeHops =
    "SELECT a.src, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  private def rewritten(file: Path)(edit: String => String): Unit = {
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    val before = Files.readString(file)
    val after = edit(before)
    assert(after != before)
    val _ = Files.writeString(file, after)
  }

  /** Changes the recorded block of a query that ran. */
  private def changed(edit: JValue => JValue): EdgeFiles = {
    val files = ran(threeHops, batches = 1)
    rewritten(Paths.get(files.path("cp"), "state/0/_metadata/v2/0")) { text =>
      val (version, body) = text.splitAt(text.indexOf('\n'))
      val metadata = parse(body).transformField { case ("operatorPropertiesJson", JString(spec)) =>
        "operatorPropertiesJson" -> JString(SignedText.signed(edit(parse(spec))))
      }
      s"$version\n${compact(render(metadata))}"
    }
    files
  }

  private def refused(files: EdgeFiles): (String, String) = {
    val error = intercept[Exception](read(files).collect())
    val ours = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).collectFirst {
      case e: SparkThrowable if e.getCondition.startsWith("JOINLESS") => e.getCondition -> e.getMessage
    }
    ours.getOrElse(throw error)
  }

  private def field(name: String)(value: JValue)(json: JValue): JValue =
    json.transformField { case (`name`, _) => name -> value }

  test("a recorded condition that calls a method") {
    val call = "java_method('java.lang.System', 'setProperty', 'joinless.stranger', 'yes') IS NULL"
    val (condition, sentence) = refused(changed(field("filters")(JArray(List(JString(call))))))
    assert(condition == "JOINLESS_RESULT_NOT_RECORDED")
    assert(sentence.contains("the function java_method is not on the list"))
    assert(System.getProperty("joinless.stranger") == null)
  }

  test("a recorded setting that results do not depend on") {
    val confs = JObject("spark.sql.extensions" -> JString("x"))
    val files = changed(json => field("confs")(confs)(field("filters")(JArray(List(JString("(c0 > 0)"))))(json)))
    val (condition, sentence) = refused(files)
    assert(condition == "JOINLESS_RESULT_NOT_RECORDED" && sentence.contains("spark.sql.extensions"), sentence)
  }

  test("a type that names a class") {
    val udt = JObject(
      "type" -> JString("udt"),
      "class" -> JString(classOf[StateFormatFuzzSpec.Instance].getName),
      "pyClass" -> JNull,
      "sqlType" -> JString("long")
    )
    val files = changed(_.transformField { case ("type", JString("integer" | "long")) => "type" -> udt })
    assert(refused(files)._1 == "JOINLESS_STATE_MISMATCH.UNREADABLE")
    assert(!StateFormatFuzzSpec.Instance.made)
  }

  test("a type of Python's is shown as what is stored: its class would be unpickled") {
    val udt = JObject(
      "type" -> JString("udt"),
      "pyClass" -> JString("nowhere.Point"),
      "serializedClass" -> JString("gASV"),
      "sqlType" -> JString("long")
    )
    val files = changed(_.transformField { case ("type", JString("long")) => "type" -> udt })
    for (options <- Seq(Map.empty[String, String], Map("inputs" -> "a")))
      assert(!read(files, options.toSeq: _*).schema.json.contains("serializedClass"))
    assert(read(files).count() == read(ran(threeHops, batches = 1)).count())
  }

  test("more cells than there are stores") {
    val files = changed(field("shares")(JArray(List(JInt(1000), JInt(1000)))))
    assert(refused(files)._1 == "JOINLESS_STATE_MISMATCH.UNREADABLE")
  }

  test("a state store of a class of one's own") {
    for (
      (key, name) <- Seq(
        "providerClass" -> "spark.sql.streaming.stateStore.providerClass",
        "codec" -> "spark.sql.streaming.stateStore.compression.codec"
      )
    ) {
      val files = ran(threeHops, batches = 1)
      rewritten(Paths.get(files.path("cp"), "offsets/0"))(
        _.replaceAll(
          s"\"${name.replace(".", "\\.")}\":\"[^\"]*\"",
          s"\"$name\":\"${classOf[StateFormatFuzzSpec.Instance].getName}\"".replace("$", "\\$")
        )
      )
      val (condition, sentence) = refused(files)
      assert(condition == "JOINLESS_STATE_MISMATCH.UNREADABLE" && sentence.contains(name), key)
    }
    assert(!StateFormatFuzzSpec.Instance.made)
  }
}
