package io.joinless.spark.kafka

import io.joinless.spark.changes.{ChangeTypeWeight, Changes, GivenWeight, SourceNames}
import io.joinless.spark.errors.{KafkaErrors, Suggestion}
import io.joinless.spark.plans.marks.DeltaOutput
import io.joinless.spark.plans.nodes.KeyedRecords
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.types.StringType

/** Changes of a result as the records of a compacted topic: for each key of a batch one record, the
  * key as JSON and the inserted row as JSON, or NULL where the batch deletes the row of the key and
  * inserts none.
  */
object Upserts {

  /** The records of the changes `df`.
    *
    * @param key columns that identify a row of the result
    */
  def records(df: DataFrame, key: Seq[String]): DataFrame = Changes.within(df) {
    val plan = Plans.analyzed(df)
    val change = changeColumn(plan)
    if (df.isStreaming && !plan.exists(_.isInstanceOf[DeltaOutput])) throw KafkaErrors.upserts("NO_CHANGES")
    val columns = plan.output.filterNot(_.exprId == change.exprId)
    val keys = key.map(column(plan, columns, _))
    val weight = change match {
      case types if types.dataType.isInstanceOf[StringType] => ChangeTypeWeight(types, SourceNames.of(plan))
      case weights => GivenWeight(weights, SourceNames.of(plan))
    }
    val weighted = Project(columns :+ Alias(weight, DeltaForm.Weight.column)(), plan)
    val inserts = GreaterThan(weighted.output.last, Literal(0L))
    val records = Project(
      Seq(
        Alias(json(keys), "key")(),
        Alias(If(inserts, json(columns), Literal(null, StringType)), "value")(),
        weighted.output.last
      ),
      weighted
    )
    Plans.dataFrame(df, KeyedRecords(records, key.mkString(", ")))
  }

  /** The column of changes, in either form. */
  private def changeColumn(plan: LogicalPlan): Attribute =
    plan.output.filter(a => Seq(DeltaForm.ChangeType, DeltaForm.Weight).exists(_.column == a.name)) match {
      case Seq(column) => column
      case _ => throw KafkaErrors.upserts("NO_CHANGES")
    }

  private def column(plan: LogicalPlan, columns: Seq[Attribute], name: String): Attribute =
    columns.filter(a => plan.conf.resolver(a.name, name)) match {
      case Seq(column) => column
      case Seq() => throw KafkaErrors.upserts(
          "COLUMN_NOT_FOUND",
          "column" -> name,
          "columns" -> columns.map(_.name).mkString(", "),
          "suggestion" -> Suggestion.sentence(name, columns.map(_.name))
        )
      case _ => throw KafkaErrors.upserts("COLUMN_AMBIGUOUS", "column" -> name)
    }

  /** A row as a JSON object, in the same spelling in each session: times in UTC, with microseconds;
    * NULLs are not left out.
    */
  private def json(columns: Seq[Attribute]): Expression =
    StructsToJson(Spelling, CreateNamedStruct(columns.flatMap(a => Seq(Literal(a.name), a))))

  private val Spelling = Map(
    "ignoreNullFields" -> "false",
    "timeZone" -> "UTC",
    "timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
  )
}
