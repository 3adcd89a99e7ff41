package io.joinless.spark.spec

import scala.util.control.NonFatal

import io.joinless.spark.spec.JsonFields._
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** The scans of a query, and what its join blocks store of the streams that they read.
  *
  * @param scans in preorder
  * @param relations those whose rows are projections and conditions on one stream
  */
final case class StoredRelations(scans: IndexedSeq[ScanSpec], relations: IndexedSeq[StoredRelation]) {

  /** What both store: a query that continues may read a relation in another way than before, and
    * then has rows of both.
    */
  def narrowed(that: StoredRelations): StoredRelations = copy(relations = relations.filter(that.relations.contains))

  def json: String = compact(render(JObject(
    "version" -> JInt(StoredRelations.Version),
    "scans" -> JsonValues.array(scans)(s => JObject("name" -> JString(s.name), "source" -> JInt(s.source))),
    "relations" -> JsonValues.array(relations)(StoredRelation.toJson)
  )))
}

/** A scan of a stream, or of a static table that is read once.
  *
  * @param name of the stream, for users
  * @param source the number of its source, by which the source's own folder is called; -1 where it
  *   has none
  */
final case class ScanSpec(name: String, source: Int)

object StoredRelations {
  final private val Version = 1

  /** The record in a text; None if it is of a later version, or none. */
  def of(text: String): Option[StoredRelations] =
    try {
      val json = parse(text)
      Option.when(int(json, "version") == Version)(
        StoredRelations(
          list(json, "scans").map(s => ScanSpec(JsonFields.text(s, "name"), int(s, "source"))),
          list(json, "relations").map(StoredRelation.fromJson)
        )
      )
    } catch { case NonFatal(_) => None }
}
