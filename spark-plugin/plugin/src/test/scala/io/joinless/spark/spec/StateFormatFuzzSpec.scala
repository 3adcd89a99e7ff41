package io.joinless.spark.spec

import scala.util.Random

import io.joinless.spark.Specs
import io.joinless.spark.errors.Mismatch
import io.joinless.spark.exec.cells.CellKinds
import io.joinless.spark.placement.Cells
import io.joinless.spark.state.SignedText
import org.apache.spark.sql.types._
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, parse, render}
import org.scalatest.funsuite.AnyFunSuite

/** Corrupted texts with valid digests: each is a valid block, or is refused by name. */
class StateFormatFuzzSpec extends AnyFunSuite {
  import SignedText.signed
  import StateFormatFuzzSpec._

  private val blocks =
    Seq(Specs.threeHops, Specs.starAndOther, Specs.threeHops.shaped(_.having(ResultSpec, Some(Result))))

  /** The fault of a text, if it has one; a text without one can be used. */
  private def checked(text: String): Option[Mismatch] = StateFormat.read(text) match {
    case Left((kind, what)) =>
      assert(what.endsWith(".") && what.length < 2000, what.take(2000))
      Some(kind)
    case Right(spec) =>
      val _ = CellKinds.of(spec).empty(spec)
      if (spec.shares.nonEmpty) { val _ = new Cells(spec) }
      assert(StateFormat.read(StateFormat.toJson(spec)) == Right(spec))
      None
  }

  test("random changes of the recorded text") {
    val random = new Random(20)
    val found = (1 to 3000).map { i =>
      val json = parse(StateFormat.toJson(blocks(i % blocks.size)))
      val changed = (1 to 1 + random.nextInt(2)).foldLeft(json)((json, _) => Changes(random).somewhere(json))
      checked(signed(changed))
    }
    assert(found.count(_.isEmpty) > 100 && found.count(_.contains(Mismatch.Unreadable)) > 1000)
  }

  test("random bytes in the recorded text") {
    val random = new Random(21)
    (1 to 500).foreach { i =>
      val text = StateFormat.toJson(blocks(i % blocks.size)).toArray
      (1 to 1 + random.nextInt(4)).foreach(_ => text(random.nextInt(text.length)) = random.nextPrintableChar())
      checked(new String(text))
    }
  }

  private def refused(what: String)(edit: JValue => JValue): Unit = test(s"refused: $what") {
    for (spec <- blocks) {
      val kind = checked(signed(edit(parse(StateFormat.toJson(spec)))))
      assert(kind.contains(Mismatch.Unreadable) || kind.contains(Mismatch.Tree))
    }
  }

  refused("more cells than fit an int")(set("shares")(JArray(List.fill(2)(JInt(65536)))))
  refused("cells whose number overflows to 1")(set("shares")(JArray(List(JInt(1431655766), JInt(3)))))
  refused("more cells than any cluster has")(set("shares")(JArray(List.fill(2)(JInt(5000)))))
  refused("a negative share")(set("shares")(JArray(List(JInt(-1), JInt(-4)))))
  refused("a number beyond an int")(set("block")(JInt(BigInt(2).pow(31))))
  refused("a number of many digits")(set("block")(JInt(BigInt("1" * 5000))))
  refused("a negative block")(set("block")(JInt(-1)))
  refused("an attribute that takes memory")(_.transformField {
    case ("attributes", JArray(_)) => "attributes" -> JArray(List(JInt(Int.MaxValue)))
  })
  refused("more relations than bits")(_.transformField { case ("relations", JArray(all)) =>
    "relations" -> JArray(List.fill(64)(all.head))
  })
  refused("a relation whose number is cut")(_.transformField { case ("relation", JInt(n)) =>
    "relation" -> JInt(n + BigInt(2).pow(32))
  })
  refused("a deep tree")(set("tree")((1 to 600).foldLeft[JValue](JNull)((tree, _) => JArray(List(tree)))))
  refused("a tree of many nodes")(_.transformField {
    case ("tree", tree) => "tree" -> JObject("attributes" -> JArray(Nil), "children" -> JArray(List.fill(100000)(tree)))
  })
  refused("a deep type")(_.transformField { case ("type", JString("long")) =>
    "type" -> (1 to 600).foldLeft[JValue](JString("long"))((t, _) =>
      JObject("type" -> JString("array"), "elementType" -> t, "containsNull" -> JBool(true))
    )
  })
  refused("a type that makes an instance of a class")(_.transformField { case ("type", JString("long")) =>
    "type" -> JObject(
      "type" -> JString("udt"),
      "class" -> JString(classOf[Instance].getName),
      "pyClass" -> JNull,
      "sqlType" -> JString("long")
    )
  })
  refused("nullSafe that is no truth value")(set("nullSafe")(JArray(List(JInt(1), JString("true")))))
  refused("nullSafe that is too short")(set("nullSafe")(JArray(Nil)))
  refused("a list instead of the block")(json => JArray(List(json)))
  refused("a very long text")(set("engineVersion")(JString("x" * (SpecBounds.MaxLength + 1))))

  test("lists without an end") {
    for (open <- Seq("[", "{\"a\":")) assert(checked(open * 1000000).contains(Mismatch.Unreadable))
  }

  test("no class was instantiated") { assert(!Instance.made) }

  test("a field that comes twice") {
    for (spec <- blocks; field <- Seq("shares", "relations", "tree", "digest")) {
      val json = parse(StateFormat.toJson(spec)).asInstanceOf[JObject]
      val twice = JObject(json.obj :+ (field -> (json \ field)))
      assert(checked(if (field == "digest") compact(render(twice)) else signed(twice)).contains(Mismatch.Unreadable))
    }
  }

  test("a type of a user is read where it is one") {
    val point = Specs.threeHops.shaped(_.copy(inputs =
      Specs.threeHops.inputs.map(i => i.copy(columns = i.columns :+ ColumnSpec("p", new PointType)))
    ))
    assert(checked(StateFormat.toJson(point)).isEmpty)
  }

  test("a block that is as large as can be is read") {
    val text = StateFormat.toJson(Specs.threeHops.shaped(_.copy(residuals =
      Specs.threeHops.residuals.map(_.copy(sql = "x" * 1000000))
    )))
    assert(checked(text).isEmpty)
  }
}

object StateFormatFuzzSpec {
  private val Result = ResultSpec(
    IndexedSeq(ColumnSpec("x", LongType), ColumnSpec("y", StringType("UTF8_LCASE"))),
    IndexedSeq(Some("(c0 + 1L)"), None),
    IndexedSeq(None),
    IndexedSeq(Some("(c0 < c1)")),
    Map("spark.sql.ansi.enabled" -> "true")
  )

  final class Instance { Instance.made = true }
  object Instance { @volatile var made = false }

  final class PointType extends UserDefinedType[AnyRef] {
    override def sqlType: DataType = ArrayType(DoubleType)
    override def serialize(obj: AnyRef): Any = obj
    override def deserialize(datum: Any): AnyRef = datum.asInstanceOf[AnyRef]
    override def userClass: Class[AnyRef] = classOf[AnyRef]
  }

  private def set(field: String)(value: JValue)(json: JValue): JValue = json match {
    case JObject(fields) => JObject(fields.map { case (name, old) => name -> (if (name == field) value else old) })
    case other => other
  }

  /** One change at a random position. */
  final private case class Changes(random: Random) {
    def somewhere(json: JValue): JValue = json match {
      case JObject(fields) if fields.nonEmpty && random.nextInt(12) > 0 =>
        val i = random.nextInt(fields.size)
        JObject(fields.updated(i, fields(i)._1 -> somewhere(fields(i)._2)))
      case JArray(items) if items.nonEmpty && random.nextInt(8) > 0 =>
        val i = random.nextInt(items.size)
        JArray(items.updated(i, somewhere(items(i))))
      case JObject(fields) if fields.nonEmpty && random.nextBoolean() =>
        val i = random.nextInt(fields.size)
        if (random.nextBoolean()) JObject(fields.patch(i, Nil, 1))
        else JObject(fields :+ fields(i).copy(_2 = value()))
      case JArray(items) if random.nextBoolean() =>
        if (random.nextBoolean()) JArray(items ++ items) else JArray(items.drop(1))
      case JInt(n) if random.nextBoolean() => JInt(n + random.nextInt(5) - 2)
      case JBool(b) if random.nextBoolean() => JBool(!b)
      case _ => value()
    }

    private def value(): JValue = random.nextInt(12) match {
      case 0 => JNull
      case 1 => JInt(-1)
      case 2 => JInt(random.nextInt(4))
      case 3 => JInt(Int.MaxValue)
      case 4 => JInt(BigInt(Long.MaxValue) * 3)
      case 5 => JString("")
      case 6 => JString("struct<")
      case 7 => JString("long")
      case 8 => JArray(Nil)
      case 9 => JObject(Nil)
      case 10 => JDouble(1e300)
      case _ => JBool(random.nextBoolean())
    }
  }
}
