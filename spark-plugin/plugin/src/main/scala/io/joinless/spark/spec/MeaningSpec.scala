package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch
import io.joinless.spark.spec.JsonFields._
import io.joinless.spark.spec.JsonValues.array
import org.json4s.JsonAST._

/** The filters and expressions that must be the same for a delete as for its insert, as texts over
  * names of columns: which rows of a changelog are stored and with which values, and which results
  * are emitted and with which values. User-defined functions are recorded by name only.
  *
  * @param rows per relation, for a changelog
  * @param conditions those on results, sorted; `r1`, `r2`, … are the relations
  * @param values the result's columns
  * @param zone the session's time zone, where one of these depends on it
  * @param emitted the columns that operators above make of the result's rows one by one (explode,
  *   windows, ROLLUP, UNION), in their order, where no other stateful operator stands above. None
  *   where there are no such operators, or the writing release did not record it
  */
final case class MeaningSpec(
    rows: IndexedSeq[Option[RowsSpec]],
    conditions: IndexedSeq[String],
    values: IndexedSeq[String],
    zone: Option[String] = None,
    emitted: Option[IndexedSeq[String]] = None
) {

  /** With further conditions, per relation, that a changelog's rows have passed. */
  def filteredBefore(filters: IndexedSeq[IndexedSeq[String]]): MeaningSpec =
    copy(rows = rows.zip(filters).map { case (rows, more) =>
      rows.map(r => r.copy(filters = (r.filters ++ more).distinct.sorted))
    })
}

/** @param values the stored columns
  * @param filters which rows are stored, sorted
  */
final case class RowsSpec(values: IndexedSeq[String], filters: IndexedSeq[String])

object RowsSpec {

  def toJson(rows: RowsSpec): JObject =
    JObject("values" -> JsonValues.texts(rows.values), "filters" -> JsonValues.texts(rows.filters))

  def fromJson(json: JValue): RowsSpec = RowsSpec(texts(json, "values"), texts(json, "filters"))
}

/** The property is Some where rows can be deleted; else, and where the writing release did not
  * record it, None.
  *
  * At a restart it names the filter or expression that has changed since inserts were stored, so
  * that deletes would not find their rows.
  */
object MeaningSpec extends BlockProperty[Option[MeaningSpec]]("meaning", default = None) {

  override def since: Int = 1

  override def write(meaning: Option[MeaningSpec]): Option[JValue] = meaning.map { meaning =>
    JObject(List(
      "rows" -> array(meaning.rows)(_.fold[JValue](JNull)(RowsSpec.toJson)),
      "conditions" -> JsonValues.texts(meaning.conditions),
      "values" -> JsonValues.texts(meaning.values)
    ) ++ meaning.zone.map(zone => "zone" -> JString(zone)) ++
      meaning.emitted.map(columns => "emitted" -> JsonValues.texts(columns)))
  }

  override def read(json: Option[JValue]): Option[MeaningSpec] = json.map { found =>
    MeaningSpec(
      list(found, "rows").map(nullable(_)(RowsSpec.fromJson)),
      texts(found, "conditions"),
      texts(found, "values"),
      optional(found, "zone").map(_ => text(found, "zone")),
      optional(found, "emitted").map(_ => texts(found, "emitted"))
    )
  }

  override def problem(meaning: Option[MeaningSpec], block: BlockCore): Option[(Mismatch, String)] =
    Option.when(meaning.exists(_.rows.size != block.relations.size))(
      BlockProperty.contradiction("its rows are those of other relations")
    )

  override def compared: Compared = Compared.AfterState

  override def difference(
      was: Option[MeaningSpec],
      is: Option[MeaningSpec],
      recorded: BlockCore,
      planned: BlockCore
  ): Option[(Mismatch, String)] =
    for (before <- was; now <- is; what <- changed(before, now, planned.relations.map(_.name)))
      yield Mismatch.Filter -> what

  /** What has changed, in a sentence for users: the first of a changelog's filters or columns, the
    * conditions on results, the result's columns and the time zone. None if nothing has.
    *
    * @param names of the relations, as the query has them
    */
  private def changed(was: MeaningSpec, is: MeaningSpec, names: Seq[String]): Option[String] =
    names.indices.iterator.flatMap { i =>
      for (before <- was.rows(i); now <- is.rows(i); what <- rows(before, now, names(i))) yield what
    }.nextOption()
      .orElse(parts(was.conditions, is.conditions).map { case (before, now) =>
        s"Its results were filtered by $before, and the query filters them by $now (${relations(names)}): it would report " +
          "deletes of rows that it never reported as inserted."
      })
      .orElse(places(was.values, is.values).orElse(emitted(was.emitted, is.emitted)).map { case (before, now) =>
        s"Its results were the columns $before, and the query's are $now (${relations(names)}): it would report deletes of " +
          "rows that it never reported as inserted."
      })
      .orElse(zones(was.zone, is.zone))

  /** The columns that operators above emit and that differ at the same position, before and now, as
    * texts. None if none differs, or if one of the two is not recorded, as in earlier releases.
    */
  def emitted(was: Option[IndexedSeq[String]], is: Option[IndexedSeq[String]]): Option[(String, String)] =
    for (before <- was; now <- is; different <- places(before, now)) yield different

  /** A sentence about time zones that differ; None if they are the same, or if one of the two has
    * none: where nothing depends on it, and in earlier releases.
    */
  def zones(was: Option[String], is: Option[String]): Option[String] =
    for (before <- was; now <- is; if before != now)
      yield s"It was begun in the time zone $before, and the query has values in the time zone $now: rows would not be deleted as they " +
        "were inserted. Set spark.sql.session.timeZone as it was."

  /** What has changed of a changelog's filters, else of its columns, in a sentence for users. */
  private def rows(was: RowsSpec, is: RowsSpec, name: String): Option[String] =
    parts(was.filters, is.filters).map { case (before, now) =>
      s"The changelog $name was filtered by $before, and the query filters it by $now: a delete would not find the row that its " +
        "insert stored."
    }.orElse(places(was.values, is.values).map { case (before, now) =>
      s"The changelog $name was stored as $before, and the query reads it as $now: a delete would not find the row that its " +
        "insert stored."
    })

  private def relations(names: Seq[String]): String =
    names.zipWithIndex.map { case (name, i) => s"r${i + 1} is $name" }.mkString(", ")

  /** The parts of a conjunction that only one of the two has, before and now, as texts; None if both
    * have the same.
    */
  private def parts(was: Seq[String], is: Seq[String]): Option[(String, String)] =
    Option.when(was != is)((listed(was.diff(is)), listed(is.diff(was))))

  /** The columns that differ at the same position, before and now, as texts; None if none does. */
  private def places(was: Seq[String], is: Seq[String]): Option[(String, String)] = {
    val (before, now) = was.zipAll(is, "nothing", "nothing").filter { case (w, i) => w != i }.unzip
    Option.when(before.nonEmpty)((listed(before), listed(now)))
  }

  private def listed(texts: Seq[String]): String = if (texts.isEmpty) "nothing" else texts.mkString(" and ")
}
