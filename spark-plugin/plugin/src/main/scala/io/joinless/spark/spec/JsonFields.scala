package io.joinless.spark.spec

import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, render}

/** Reads fields of a recorded text by their types. A field that is missing or of another type is an
  * `IllegalArgumentException` that names it.
  */
private[spec] object JsonFields {

  def at(json: JValue, field: String): JValue = json \ field match {
    case JNothing => throw new IllegalArgumentException(s"the field $field is missing")
    case value => value
  }

  def list(json: JValue, field: String): IndexedSeq[JValue] = items(at(json, field), field)

  /** The elements of a field's value, which must be a list. */
  def items(json: JValue, field: String): IndexedSeq[JValue] = json match {
    case JArray(items) => items.toIndexedSeq
    case _ => throw new IllegalArgumentException(s"the field $field is no list")
  }

  def text(json: JValue, field: String): String = at(json, field) match {
    case JString(value) => value
    case _ => throw new IllegalArgumentException(s"the field $field is no text")
  }

  def int(json: JValue, field: String): Int = number(at(json, field))

  def long(json: JValue, field: String): Long = at(json, field) match {
    case JInt(n) if n.isValidLong => n.toLong
    case other => throw new IllegalArgumentException(s"${excerpt(other)} is no number")
  }

  def number(json: JValue): Int = json match {
    case JInt(n) if n.isValidInt => n.toInt
    case other => throw new IllegalArgumentException(s"${excerpt(other)} is no number")
  }

  /** An element of a set of attributes; such a set takes memory up to its largest element. */
  def attribute(json: JValue): Int = {
    val x = number(json)
    SpecBounds.demand(x >= 0 && x < SpecBounds.MaxAttributes, s"there is no attribute $x")
    x
  }

  def pair(json: JValue): (Int, Int) = json match {
    case JArray(List(a, b)) => (number(a), number(b))
    case other => throw new IllegalArgumentException(s"${excerpt(other)} is no pair")
  }

  def boolean(json: JValue): Boolean = json match {
    case JBool(value) => value
    case other => throw new IllegalArgumentException(s"${excerpt(other)} is neither true nor false")
  }

  def excerpt(json: JValue): String = compact(render(json)).take(100)

  def column(json: JValue): ColumnRef =
    pair(json) match { case (relation, ordinal) => ColumnRef(relation, ordinal) }

  def texts(json: JValue, field: String): IndexedSeq[String] = textsIn(at(json, field), field)

  /** The texts of a field's value, which must be a list of them. */
  def textsIn(json: JValue, field: String): IndexedSeq[String] = items(json, field).map {
    case JString(value) => value
    case other => throw new IllegalArgumentException(s"${excerpt(other)} is no text")
  }

  def columns(json: JValue): IndexedSeq[ColumnSpec] =
    RecordedTypes.schema(json).fields.toIndexedSeq.map(f => ColumnSpec(f.name, f.dataType))

  /** A value that may be NULL. */
  def nullable[A](json: JValue)(read: JValue => A): Option[A] = json match {
    case JNull => None
    case value => Some(read(value))
  }

  /** A field that may be missing. */
  def optional(json: JValue, field: String): Option[JValue] = json \ field match {
    case JNothing => None
    case value => Some(value)
  }
}
