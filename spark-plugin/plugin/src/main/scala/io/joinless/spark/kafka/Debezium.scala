package io.joinless.spark.kafka

import io.joinless.spark.changes.{Changes, GivenWeight, Latest, SourceNames}
import io.joinless.spark.errors.{KafkaErrors, Suggestion}
import io.joinless.spark.plans.marks.Changelog
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  Expression,
  Inline,
  Literal,
  Not
}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Generate, LogicalPlan, Project}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.types._

/** The table whose changes a Debezium topic has, as a relation. Without a key it is a changelog:
  * each change deletes the row before and inserts the row after. With a key it is the newest row of
  * each key, by the offset of its record.
  */
object Debezium {

  /** The relation of a topic.
    *
    * @param df the records, with the columns of Spark's source
    * @param schema the columns of the relation: as DDL, or as the JSON of a struct
    * @param key columns that identify a row; empty for a changelog
    * @param added columns that older messages lack
    */
  def relation(
      df: DataFrame,
      schema: String,
      key: Seq[String],
      added: Seq[String],
      decimals: Option[String],
      timestamps: Option[String]
  ): DataFrame = Changes.of(df) {
    val columns = structOf(schema)
    val names = columns.map(_.name)
    for (name <- key ++ added if !names.contains(name)) throw KafkaErrors.arguments(
      "COLUMN_NOT_FOUND",
      "column" -> name,
      "columns" -> names.mkString(", "),
      "suggestion" -> Suggestion.sentence(name, names)
    )
    val format = RowFormat.of(columns, added, decimals, timestamps)
    val plan = Plans.analyzed(df)
    Plans.dataFrame(df, if (key.isEmpty) changes(plan, format) else newest(plan, format, key))
  }

  private def changes(plan: LogicalPlan, format: RowFormat): LogicalPlan = {
    val rows = DebeziumRows(record(plan, required = Nil), format, Nil, SourceNames.of(plan))
    val generated = generate(rows, plan)
    val weight = generated.generatorOutput.head
    val alone = Project(generated.generatorOutput, generated)
    Changelog(alone, GivenWeight(weight, rows.source), Seq(weight))
  }

  private def newest(plan: LogicalPlan, format: RowFormat, key: Seq[String]): LogicalPlan = {
    val at = record(plan, required = Seq("key", "offset"))
    val generated = generate(DebeziumRows(at, format, key, SourceNames.of(plan)), plan)
    val (deleted, columns) = (generated.generatorOutput.head, generated.generatorOutput.tail)
    val order = Alias(at.last, Offset)()
    val states = Project(order +: generated.generatorOutput, generated)
    val newest = Latest(states, key, Seq(Offset))
    Project(columns, Filter(Not(deleted), newest))
  }

  /** A name that no column of a table has. */
  private val Offset = "_joinless_offset"

  private def generate(rows: DebeziumRows, plan: LogicalPlan): Generate = {
    val output = rows.dataType.elementType.asInstanceOf[StructType].map { field =>
      AttributeReference(field.name, field.dataType, field.nullable)()
    }
    Generate(Inline(rows), Nil, outer = false, None, output, plan)
  }

  /** The parts of a record: value, key, topic, partition, offset. A part that is not needed may be
    * missing; one of another type is refused.
    */
  private def record(plan: LogicalPlan, required: Seq[String]): Seq[Expression] = {
    val parts = Seq[(String, Set[DataType])](
      "value" -> Set(StringType, BinaryType),
      "key" -> Set(StringType, BinaryType),
      "topic" -> Set(StringType),
      "partition" -> Set(IntegerType),
      "offset" -> Set(LongType)
    )
    parts.map { case (name, types) =>
      def refused(what: String) = throw KafkaErrors.arguments(
        "SOURCE",
        "column" -> name,
        "what" -> what,
        "type" -> types.map(_.sql).toSeq.sorted.mkString(" or "),
        "source" -> SourceNames.of(plan)
      )
      plan.output.filter(column => plan.conf.resolver(column.name, name)) match {
        case Seq(column: Attribute) if types(column.dataType) => column
        case Seq(column) => refused(s"has the type ${column.dataType.sql}")
        case Seq() if name == "value" || required.contains(name) => refused("is missing")
        case Seq() => Literal(null, types.head)
        case _ => refused("is there more than once")
      }
    }
  }

  private def structOf(schema: String): StructType =
    if (schema.trim.startsWith("{")) DataType.fromJson(schema).asInstanceOf[StructType]
    else
      try StructType.fromDDL(schema)
      catch {
        case e: ParseException => throw KafkaErrors.arguments("DDL", "schema" -> schema, "what" -> firstLine(e))
      }

  private def firstLine(e: Throwable): String = e.getMessage.linesIterator.map(_.trim).filter(_.nonEmpty).next()
}
