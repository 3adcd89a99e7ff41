package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.types.{StringType, StructType}

/** Rows that tests write as texts, as values of columns. */
object TextRows {

  /** @param row None is NULL */
  def apply(schema: StructType, row: Seq[Option[String]]): Seq[Any] = {
    assert(row.size == schema.size, s"${schema.size} columns: $row")
    schema.fields.toSeq.zip(row).map { case (field, text) =>
      val value = Cast(Literal.create(text.orNull, StringType), field.dataType, Some("UTC"))
      CatalystTypeConverters.convertToScala(value.eval(), field.dataType)
    }
  }
}
