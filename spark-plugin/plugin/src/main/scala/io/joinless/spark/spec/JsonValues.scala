package io.joinless.spark.spec

import org.apache.spark.sql.types.{StructField, StructType}
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.parse

/** Writes the values of recorded fields; [[JsonFields]] reads them back. */
private[spec] object JsonValues {

  def array[A](items: Seq[A])(write: A => JValue): JArray = JArray(items.map(write).toList)

  def numbers(items: Int*): JArray = array(items)(n => JInt(n))

  def texts(items: Seq[String]): JArray = array(items)(JString(_))

  def column(column: ColumnRef): JValue = numbers(column.relation, column.ordinal)

  def schema(columns: Seq[ColumnSpec]): JValue =
    parse(StructType(columns.map(c => StructField(c.name, c.dataType))).json)
}
