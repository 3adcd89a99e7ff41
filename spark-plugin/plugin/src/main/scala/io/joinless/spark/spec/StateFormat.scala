package io.joinless.spark.spec

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.collection.immutable.BitSet
import scala.util.control.NonFatal

import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import io.joinless.spark.conf.Built
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import org.apache.spark.sql.types.{StructField, StructType}
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** A block's spec as it stands in the operator metadata of a checkpoint, for good (architecture D2).
  *
  * '''Durable format, version 1''': one JSON object with the fields below and `digest`, the SHA-256 of the compact text
  * of all other fields: a spec that was changed by hand would send rows to other cells than those that lie in the store.
  * Types are written as a Spark schema, which alone keeps collations. Earlier releases lack `result`, `statics`, `meaning` and
  * `constants`; `meaning` stands only where rows can be deleted.
  *
  * `fromJson(toJson(spec)) == spec`. Reading is strict: what this release has not written is refused by name.
  */
object StateFormat {

  val SpecVersion = 1

  /** The release that writes; recorded for people, never compared. */
  val EngineVersion: String = Built.Release

  /** What Spark calls our operator in metadata, progress and errors. */
  val OperatorName = "joinFree"

  /** A result that makes the text too long to be read is left out. */
  def toJson(spec: BlockSpec): String = {
    val fields = encode(spec)
    val text = compact(render(JObject(fields.obj :+ ("digest" -> JString(digest(fields))))))
    if (text.length > SpecBounds.MaxLength && spec.result.isDefined) toJson(spec.copy(result = None))
    else { SpecBounds.checkText(text); text }
  }

  /** @param checkpoint where the text was found, for the error */
  def fromJson(json: String, checkpoint: String = "of the query"): BlockSpec =
    read(json).fold(problem => throw JoinlessErrors.stateMismatch(problem._1, checkpoint, problem._2), identity)

  /** The spec, or what is wrong with the text. */
  def read(json: String): Either[(Mismatch, String), BlockSpec] =
    try {
      SpecBounds.checkText(json)
      parse(json) match {
        case all @ JObject(fields) =>
          SpecBounds.checkFields(all)
          decode(fields)
        case _ => unreadable("it is no JSON object")
      }
    } catch {
      case NonFatal(e) => unreadable(firstLine(e))
      case _: StackOverflowError => unreadable("it is nested too deep")
    }

  private def firstLine(e: Throwable): String =
    Option(e.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(e.toString).take(300).stripSuffix(".")

  private def decode(all: List[JField]): Either[(Mismatch, String), BlockSpec] = {
    val (digests, fields) = all.partition(_._1 == "digest")
    val o = JObject(fields)
    if (int(o, "specVersion") != SpecVersion)
      Left(
        (
          Mismatch.Format,
          s"Its join block is recorded in format ${int(o, "specVersion")} by release ${text(o, "engineVersion")}, this " +
            s"release reads format $SpecVersion."
        )
      )
    else if (digests.map(_._2) != List(JString(digest(o)))) unreadable("its digest is wrong, so it was changed")
    else {
      val spec = BlockSpec(
        int(o, "block"),
        list(o, "inputs").map(input => InputSpec(columns(at(input, "columns")), kind(at(input, "changelog")))),
        attributes(columns(at(o, "attributes")), list(o, "nullSafe").map(boolean)),
        list(o, "relations").map { r =>
          val keys = list(r, "keys").map(pair).map { case (attribute, ordinal) => KeySpec(attribute, ordinal) }
          RelationSpec(text(r, "name"), int(r, "input"), keys)
        },
        tree(at(o, "tree")),
        list(o, "shares").map(number),
        list(o, "residuals").map(r => ResidualSpec(text(r, "sql"), list(r, "columns").map(column))),
        list(o, "output").map(column),
        fields.collectFirst { case ("result", result) => resultOf(result) },
        staticsAtArrival = fields.collectFirst { case ("statics", statics) => atArrival(statics) }.getOrElse(true),
        meaning = fields.collectFirst { case ("meaning", meaning) => meaningOf(meaning) },
        constants = fields.collectFirst { case ("constants", _) => texts(o, "constants") }
      )
      SpecCheck.problem(spec).toLeft(spec)
    }
  }

  private def kind(changelog: JValue): InputKind =
    if (boolean(changelog)) InputKind.Changelog else InputKind.Appended

  private def attributes(columns: IndexedSeq[ColumnSpec], nullSafe: IndexedSeq[Boolean]): IndexedSeq[AttributeSpec] = {
    SpecBounds.demand(
      columns.size == nullSafe.size,
      s"${nullSafe.size} of ${columns.size} attributes say whether NULL is a value"
    )
    columns.zip(nullSafe).map { case (a, nullSafe) => AttributeSpec(a.name, a.dataType, nullSafe) }
  }

  private def unreadable(what: String) =
    Left((Mismatch.Unreadable, s"Its recorded join block cannot be read: $what."))

  private def encode(spec: BlockSpec): JObject = JObject(List(
    "specVersion" -> JInt(SpecVersion),
    "engineVersion" -> JString(EngineVersion),
    "block" -> JInt(spec.ordinal),
    "inputs" -> array(spec.inputs) { input =>
      JObject("changelog" -> JBool(input.kind == InputKind.Changelog), "columns" -> schema(input.columns))
    },
    "attributes" -> schema(spec.attributes.map(a => ColumnSpec(a.name, a.dataType))),
    "nullSafe" -> array(spec.attributes)(a => JBool(a.nullSafe)),
    "relations" -> array(spec.relations) { r =>
      JObject(
        "name" -> JString(r.name),
        "input" -> JInt(r.input),
        "keys" -> array(r.keys)(k => numbers(k.attribute, k.ordinal))
      )
    },
    "tree" -> encode(spec.tree),
    "shares" -> numbers(spec.shares: _*),
    "residuals" -> array(spec.residuals) { r =>
      JObject("sql" -> JString(r.sql), "columns" -> array(r.columns)(encode))
    },
    "output" -> array(spec.output)(encode),
    "statics" -> JString(if (spec.staticsAtArrival) AtArrival else AsSpark)
  ) ++ spec.result.map(r => "result" -> encode(r)) ++ spec.meaning.map(m => "meaning" -> encode(m)) ++
    spec.constants.map(texts => "constants" -> array(texts)(JString(_))))

  /** Releases that did not record when static tables are read read them so. */
  private val AtArrival = "atArrival"
  private val AsSpark = "asSpark"

  private def encode(meaning: MeaningSpec): JObject = JObject(
    "rows" -> array(meaning.rows)(_.fold[JValue](JNull) { rows =>
      JObject("values" -> array(rows.values)(JString(_)), "filters" -> array(rows.filters)(JString(_)))
    }),
    "conditions" -> array(meaning.conditions)(JString(_)),
    "values" -> array(meaning.values)(JString(_))
  )

  private def atArrival(json: JValue): Boolean = json match {
    case JString(AtArrival) => true
    case JString(AsSpark) => false
    case other =>
      throw new IllegalArgumentException(s"${compact(render(other))} is no time at which static tables are read")
  }

  private def meaningOf(json: JValue): MeaningSpec = MeaningSpec(
    list(json, "rows").map {
      case JNull => None
      case rows => Some(RowsSpec(texts(rows, "values"), texts(rows, "filters")))
    },
    texts(json, "conditions"),
    texts(json, "values")
  )

  private def texts(json: JValue, field: String): IndexedSeq[String] = list(json, field).map {
    case JString(value) => value
    case other => throw new IllegalArgumentException(s"${compact(render(other))} is no text")
  }

  private def encode(result: ResultSpec): JObject = JObject(
    "columns" -> schema(result.columns),
    "values" -> array(result.values)(encode),
    "filters" -> array(result.filters)(encode),
    "residuals" -> array(result.residuals)(encode),
    "confs" -> JObject(result.confs.toList.sorted.map { case (key, value) => key -> JString(value) })
  )

  private def resultOf(json: JValue): ResultSpec = ResultSpec(
    columns(at(json, "columns")),
    list(json, "values").map(sqlText),
    list(json, "filters").map(sqlText),
    list(json, "residuals").map(sqlText),
    at(json, "confs") match {
      case JObject(confs) => confs.map {
          case (key, JString(value)) => key -> value
          case (key, _) => throw new IllegalArgumentException(s"the setting ${key.take(100)} is no text")
        }.toMap
      case _ => throw new IllegalArgumentException("the field confs is no object")
    }
  )

  private def encode(sql: Option[String]): JValue = sql.fold[JValue](JNull)(JString(_))

  private def sqlText(json: JValue): Option[String] = json match {
    case JString(sql) => Some(sql)
    case JNull => None
    case _ => throw new IllegalArgumentException("an expression is no text")
  }

  private def encode(column: ColumnRef): JValue = numbers(column.relation, column.ordinal)

  private def encode(tree: JoinTree): JObject = {
    val relation = tree match {
      case RelationNode(r, _, _) => List("relation" -> JInt(r))
      case _: GeneralizedNode => Nil
    }
    JObject(
      relation ++ List("attributes" -> numbers(tree.attributes.toSeq: _*), "children" -> array(tree.children)(encode))
    )
  }

  private def tree(json: JValue): JoinTree = {
    val attributes = BitSet.fromSpecific(list(json, "attributes").map(attribute))
    val children = list(json, "children").map(tree)
    json \ "relation" match {
      case JNothing => GeneralizedNode(attributes, children)
      case r => RelationNode(number(r), attributes, children)
    }
  }

  private def schema(columns: Seq[ColumnSpec]): JValue =
    parse(StructType(columns.map(c => StructField(c.name, c.dataType))).json)

  private def columns(json: JValue): IndexedSeq[ColumnSpec] =
    RecordedTypes.schema(json).fields.toIndexedSeq.map(f => ColumnSpec(f.name, f.dataType))

  private def array[A](items: Seq[A])(encode: A => JValue): JArray = JArray(items.map(encode).toList)

  private def numbers(items: Int*): JArray = array(items)(n => JInt(n))

  private def at(json: JValue, field: String): JValue = json \ field match {
    case JNothing => throw new IllegalArgumentException(s"the field $field is missing")
    case value => value
  }

  private def list(json: JValue, field: String): IndexedSeq[JValue] = at(json, field) match {
    case JArray(items) => items.toIndexedSeq
    case _ => throw new IllegalArgumentException(s"the field $field is no list")
  }

  private def text(json: JValue, field: String): String = at(json, field) match {
    case JString(value) => value
    case _ => throw new IllegalArgumentException(s"the field $field is no text")
  }

  private def int(json: JValue, field: String): Int = number(at(json, field))

  private def number(json: JValue): Int = json match {
    case JInt(n) if n.isValidInt => n.toInt
    case other => throw new IllegalArgumentException(s"${shown(other)} is no number")
  }

  /** An element of a set of attributes, which takes memory up to its largest. */
  private def attribute(json: JValue): Int = {
    val x = number(json)
    SpecBounds.demand(x >= 0 && x < SpecBounds.MaxAttributes, s"there is no attribute $x")
    x
  }

  private def pair(json: JValue): (Int, Int) = json match {
    case JArray(List(a, b)) => (number(a), number(b))
    case other => throw new IllegalArgumentException(s"${shown(other)} is no pair")
  }

  private def boolean(json: JValue): Boolean = json match {
    case JBool(value) => value
    case other => throw new IllegalArgumentException(s"${shown(other)} is neither true nor false")
  }

  private def shown(json: JValue): String = compact(render(json)).take(100)

  private def column(json: JValue): ColumnRef =
    pair(json) match { case (relation, ordinal) => ColumnRef(relation, ordinal) }

  private def digest(fields: JObject): String =
    MessageDigest.getInstance("SHA-256").digest(compact(render(fields)).getBytes(UTF_8)).map("%02x".format(_)).mkString
}
