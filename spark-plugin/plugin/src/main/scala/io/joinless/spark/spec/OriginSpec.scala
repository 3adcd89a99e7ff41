package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch
import io.joinless.spark.spec.JsonFields._
import io.joinless.spark.spec.JsonValues.array
import org.json4s.JsonAST._

/** The origin of the rows of a relation, or of groups.
  *
  * @param rows a digest of what is read: a source, or the query below, up to its sources
  * @param places the locations of these sources where they have one: tables, paths, topics
  * @param filters conditions that stored rows meet, as texts over names of columns, sorted. For
  *   groups they are part of the digest
  * @param once some of the rows are those of a static table, which is read in the first batch only:
  *   another table or filter would never be read
  */
final case class OriginSpec(
    rows: String,
    places: IndexedSeq[String],
    filters: IndexedSeq[String] = IndexedSeq.empty,
    once: Boolean = false
) {

  def sameRows(that: OriginSpec): Boolean = rows == that.rows && places == that.places

  /** Whether the rows of this origin would have to be read again to be those of the other. */
  def mustReadAgain(that: OriginSpec): Boolean = once && (!sameRows(that) || filters != that.filters)
}

/** Per relation, where its rows come from; a complete result must read from the same origins. None
  * where no changes are requested, or the writing release did not record them.
  */
object OriginSpec extends BlockProperty[Option[IndexedSeq[OriginSpec]]]("origins", default = None) {

  def toJson(origin: OriginSpec): JObject = JObject(
    "rows" -> JString(origin.rows),
    "places" -> JsonValues.texts(origin.places),
    "filters" -> JsonValues.texts(origin.filters),
    "once" -> (if (origin.once) JBool(true) else JNothing)
  )

  def fromJson(json: JValue): OriginSpec = OriginSpec(
    text(json, "rows"),
    texts(json, "places"),
    texts(json, "filters"),
    optional(json, "once").exists(boolean)
  )

  override def write(origins: Option[IndexedSeq[OriginSpec]]): Option[JValue] = origins.map(array(_)(toJson))

  override def read(json: Option[JValue]): Option[IndexedSeq[OriginSpec]] = json.map(items(_, field).map(fromJson))

  override def problem(origins: Option[IndexedSeq[OriginSpec]], block: BlockCore): Option[(Mismatch, String)] =
    Option.when(origins.exists(_.size != block.relations.size))(
      BlockProperty.contradiction("its rows come from as many places as it has no relations")
    )

  override def compared: Compared = Compared.AfterState

  /** The same sources, but some are read for another relation than before. Where a stream has an
    * entirely different location, it has moved. A static table that is read once must be the same.
    */
  override def difference(
      was: Option[IndexedSeq[OriginSpec]],
      is: Option[IndexedSeq[OriginSpec]],
      recorded: BlockCore,
      planned: BlockCore
  ): Option[(Mismatch, String)] = readAgain(was, is, planned).orElse {
    for {
      (before, now) <- was.map(_.map(_.places)).zip(is.map(_.map(_.places)))
      if before != now && before.flatten.sorted == now.flatten.sorted
      i <- before.indices.find(i => before(i) != now(i))
    } yield Mismatch.Query -> s"Relation ${planned.relations(i).name} was read from ${before(i).mkString(", ")} and is now read from ${now(i).mkString(", ")}."
  }

  /** A static table of which the query would need rows that were not read. */
  private def readAgain(
      was: Option[IndexedSeq[OriginSpec]],
      is: Option[IndexedSeq[OriginSpec]],
      planned: BlockCore
  ): Option[(Mismatch, String)] = was.zip(is).flatMap { case (before, now) =>
    before.indices.find(i => before(i).mustReadAgain(now(i))).map { i =>
      Mismatch.Query -> readOnce(s"relation ${planned.relations(i).name}")
    }
  }

  /** Why a query cannot go on with rows that are read once, as a sentence.
    *
    * @param what has these rows
    */
  def readOnce(what: String): String =
    s"The rows of a static table, of $what, were read in the first batch and are not read again. The query reads other rows."

  override def otherRows(
      was: Option[IndexedSeq[OriginSpec]],
      is: Option[IndexedSeq[OriginSpec]],
      planned: BlockCore
  ): Option[(Mismatch, String)] = {
    val relations = for ((before, now) <- was.zip(is).toSeq; i <- before.indices)
      yield (planned.relations(i).name, before(i), now(i))
    relations.collectFirst {
      case (relation, before, now) if !before.sameRows(now) =>
        Mismatch.Query -> s"It stores rows of $relation that come from another source, or from another query below the join."
      case (relation, before, now) if before.filters.diff(now.filters).nonEmpty =>
        val missing = before.filters.diff(now.filters).mkString(" and ")
        Mismatch.Filter -> s"It stores the rows of $relation where $missing; the query reads others, too."
    }
  }
}
