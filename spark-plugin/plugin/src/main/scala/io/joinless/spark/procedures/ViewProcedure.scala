package io.joinless.spark.procedures

import java.util.{Iterator => JavaIterator}

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.ViewErrors
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.joinless.{BoundAlways, Plans}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** A procedure over views. It runs when the statement is analyzed, in the session that does so, and
  * returns one table of few rows. Names of tables are texts, as SQL spells them.
  */
abstract private[procedures] class ViewProcedure(override val name: String, override val description: String)
    extends BoundAlways {

  /** The rows of a call. */
  protected def rows(session: SparkSession, arguments: InternalRow): DataFrame

  final override def isDeterministic: Boolean = false

  final override def call(arguments: InternalRow): JavaIterator[Scan] = {
    val found = rows(SparkSession.active, arguments)
    val scan: Scan = new LocalScan {
      override val readSchema: StructType = found.schema
      override val rows: Array[InternalRow] = Plans.rows(found).toArray
    }
    Iterator.single(scan).asJava
  }

  protected def required(parameter: String, dataType: DataType, comment: String): ProcedureParameter =
    ProcedureParameter.in(parameter, dataType).comment(comment).build()

  /** @param default in SQL */
  protected def optional(parameter: String, dataType: DataType, default: String, comment: String): ProcedureParameter =
    ProcedureParameter.in(parameter, dataType).defaultValue(default).comment(comment).build()

  /** A text that may be NULL. One that is blank is refused. */
  protected def text(arguments: InternalRow, position: Int): Option[String] =
    Option.unless(arguments.isNullAt(position))(arguments.getUTF8String(position).toString).map { text =>
      if (text.isBlank) throw noValue(position) else text
    }

  /** The error of a parameter that needs a value. */
  protected def noValue(position: Int): Exception = ViewErrors.noValue(name, parameters()(position).name)

  final override def toString: String = s"joinless.$name"
}
