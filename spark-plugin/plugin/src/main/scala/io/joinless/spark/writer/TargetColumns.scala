package io.joinless.spark.writer

import java.util.Locale

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Cast
import org.apache.spark.sql.catalyst.util.{CharVarcharUtils, quoteIdentifier}
import org.apache.spark.sql.joinless.{SessionPlans, SqlTypes}
import org.apache.spark.sql.types._

/** Columns of a target and of the changes for it: names and types. */
private[spark] object TargetColumns {

  /** Maps names that are one name in the session to one text. */
  def folding(session: SparkSession): String => String =
    if (new SessionPlans(session).conf.caseSensitiveAnalysis) identity else _.toLowerCase(Locale.ROOT)

  /** Whether columns have the names and types of a table, in any order. */
  def fit(fold: String => String, columns: Seq[StructField], table: StructType): Boolean = {
    val wanted = table.map(field => fold(field.name) -> field.dataType).toMap
    columns.size == wanted.size && columns.map(field => fold(field.name)).distinct.size == columns.size &&
    columns.forall(field => wanted.get(fold(field.name)).exists(isSame(_, field.dataType)))
  }

  /** Whether two types hold the same values: nullability may differ. */
  private def isSame(one: DataType, other: DataType): Boolean =
    one.catalogString.equalsIgnoreCase(other.catalogString)

  /** The columns as SQL, all of them nullable. */
  def ddl(columns: Seq[StructField]): String = columns.map { field =>
    s"${quoteIdentifier(field.name)} ${SqlTypes.nullable(field.dataType).sql}"
  }.mkString(", ")

  /** A column whose values cannot be compared. */
  def incomparable(columns: Seq[StructField]): Option[StructField] =
    columns.find(field => SqlTypes.contains(field.dataType)(part => part.isInstanceOf[MapType] || part == VariantType))

  /** A column that Delta cannot have. */
  def unnamed(columns: Seq[StructField]): Option[StructField] =
    columns.find(_.name.exists(" ,;{}()\n\t=".contains(_)))

  /** The type of the weights, if it is none of whole numbers. */
  def noWeight(changes: StructType): Option[DataType] = changes.find(_.name == NetChanges.Weight).map(_.dataType)
    .filterNot(dataType => Seq(ByteType, ShortType, IntegerType, LongType).contains(dataType))

  /** A column of a table of which a part is NOT NULL, where the values of the changes may be NULL:
    * no value can be assigned to it.
    */
  def notNull(fold: String => String, columns: Seq[StructField], table: StructType): Option[StructField] = {
    val types = columns.map(field => fold(field.name) -> field.dataType).toMap
    table.find(field => types.get(fold(field.name)).exists(!Cast.canCast(_, field.dataType)))
  }

  /** A column of CHAR, with its type as it was declared: Spark reads it as a STRING. */
  def padded(table: StructType): Option[(String, String)] = table.map { field =>
    field.name -> CharVarcharUtils.getRawTypeString(field.metadata).getOrElse(field.dataType.catalogString)
  }.find { case (_, declared) => "\\bchar\\(".r.findFirstIn(declared).isDefined }

  /** SQL that tests whether Delta reads a value of a partition column back as another one; None for
    * types whose values it preserves. Delta writes the values as texts. An empty text or the folder
    * name for NULL is read as NULL, bytes that are no UTF-8 as other bytes, of an hour that a clock
    * has twice only the first, and no time before year 1 in UTC.
    */
  def isLost(value: String, dataType: DataType): Option[String] = dataType match {
    case _: StringType | BinaryType =>
      val text = s"CAST($value AS STRING)"
      Some(s"($text IN ('', '__HIVE_DEFAULT_PARTITION__') OR NOT is_valid_utf8($text))")
    case TimestampType =>
      val first = s"$value < TIMESTAMP'0001-01-01 00:00:00Z'"
      Some(s"($first OR CAST(CAST($value AS STRING) AS TIMESTAMP) <> $value)")
    case _ => None
  }
}
