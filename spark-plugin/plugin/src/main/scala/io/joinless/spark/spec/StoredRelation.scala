package io.joinless.spark.spec

import io.joinless.spark.spec.JsonFields._
import org.json4s.JsonAST._

/** What a join block stores of a stream for one of its relations, in terms of the columns of the
  * stream. A relation of another query can take its rows from there if it needs no more.
  *
  * @param block position of the block among those of its query, in preorder
  * @param relation number in the block
  * @param scan position of the relation's scan among all scans of the query, in preorder
  * @param stream a digest of the stream, and of how it is read
  * @param columns what the stored columns are, as texts, with their types
  * @param weight what the weight of a row is; None where each row is inserted once
  * @param filters conditions that stored rows meet, sorted
  * @param present expressions that are NULL in no stored row, although they may be in the stream
  * @param settings on which these texts depend
  */
final case class StoredRelation(
    block: Int,
    relation: Int,
    scan: Int,
    stream: String,
    columns: IndexedSeq[ColumnSpec],
    weight: Option[String],
    filters: IndexedSeq[String],
    present: IndexedSeq[String],
    settings: Option[String]
) {

  /** The stored columns, by what they are. */
  def ordinals: Map[String, Int] = columns.map(_.name).zipWithIndex.toMap

  /** Why rows of the same stream are not among the stored ones, as a clause; None if they are.
    *
    * @param conditions that these rows meet, as texts
    * @param presentThere expressions that are NULL in none of them
    * @param settingsThere on which their values depend
    */
  def lacks(conditions: Seq[String], presentThere: Seq[String], settingsThere: Option[String]): Option[String] = {
    def first(texts: Seq[String])(clause: String => String) = texts.headOption.map(clause)
    Option.when(settings.zip(settingsThere).exists { case (here, there) => here != there })(
      "other settings were in force"
    ).orElse(first(filters.diff(conditions))(f => s"only its rows where $f are stored"))
      .orElse(first(present.diff(presentThere))(p => s"its rows without $p are not stored"))
  }
}

object StoredRelation {

  private[spec] def toJson(stored: StoredRelation): JObject = JObject(
    "block" -> JInt(stored.block),
    "relation" -> JInt(stored.relation),
    "scan" -> JInt(stored.scan),
    "stream" -> JString(stored.stream),
    "columns" -> JsonValues.schema(stored.columns),
    "weight" -> stored.weight.fold[JValue](JNull)(JString(_)),
    "filters" -> JsonValues.texts(stored.filters),
    "present" -> JsonValues.texts(stored.present),
    "settings" -> stored.settings.fold[JValue](JNull)(JString(_))
  )

  private[spec] def fromJson(json: JValue): StoredRelation = StoredRelation(
    int(json, "block"),
    int(json, "relation"),
    int(json, "scan"),
    text(json, "stream"),
    columns(at(json, "columns")),
    nullableText(json, "weight"),
    texts(json, "filters"),
    texts(json, "present"),
    nullableText(json, "settings")
  )

  private def nullableText(json: JValue, field: String): Option[String] =
    nullable(at(json, field)) {
      case JString(value) => value
      case other => throw new IllegalArgumentException(s"${excerpt(other)} is no text")
    }
}
