package io.joinless.spark.views

import org.json4s.JsonAST.{JArray, JString}
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** What a Delta table says, in its properties, of the view that fills it.
  *
  * `materialize` writes it. A table without it is not kept by `materialize`, or was filled before
  * there were such records.
  *
  * @param query the text of the query; None if it was given as a DataFrame
  * @param database names in the text without a database belong to this one; None without a text
  * @param frames names in the text that stand for DataFrames
  * @param checkpoint the folder of the checkpoint; None if it is `_joinless` in the folder of the
  *   table; a name such as `_joinless_2` of another one there
  */
final case class ViewRecord(
    query: Option[String],
    database: Option[String],
    frames: Seq[String],
    checkpoint: Option[String]
) {
  import ViewRecord._

  /** The checkpoint, if the table is at this location. */
  def folder(location: String): String = checkpoint match {
    case Some(elsewhere) if !elsewhere.matches(s"${Folder}_[0-9]+") => elsewhere
    case named => s"${location.stripSuffix("/")}/${named.getOrElse(Folder)}"
  }

  /** The properties of the table; those that are empty are left out. */
  def properties: Map[String, String] = Map(View -> Format) ++
    query.map(Query -> _) ++ database.map(Database -> _) ++ checkpoint.map(Checkpoint -> _) ++
    Option.when(frames.nonEmpty)(Frames -> compact(render(JArray(frames.map(JString(_)).toList))))
}

object ViewRecord {

  /** The version of the record. A reader refuses no later one: it only adds properties. */
  private val Format = "1"

  /** The folder of the checkpoint in that of the table. VACUUM leaves folders alone whose names
    * begin with an underscore.
    */
  val Folder = "_joinless"

  /** The property that each view has. */
  private val View = "joinless.view"

  private val Query = "joinless.query"
  private val Database = "joinless.database"
  private val Frames = "joinless.given"
  private val Checkpoint = "joinless.checkpoint"

  /** The view that these properties of a table name; None if they name none. */
  def of(properties: Map[String, String]): Option[ViewRecord] = Option.when(properties.contains(View)) {
    val frames = properties.get(Frames).map(parse(_)).toSeq.flatMap(_.children).collect { case JString(name) => name }
    ViewRecord(properties.get(Query), properties.get(Database), frames, properties.get(Checkpoint))
  }
}
