package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch
import org.json4s.JsonAST.JValue

/** Equi-join conditions that are no attributes, because filters fix both sides to one value:
  * `relation 1.k = relation 2.k = 5L`. None where the writing release did not record them.
  */
object FixedConditions extends BlockProperty[Option[IndexedSeq[String]]]("constants", default = None) {

  override def since: Int = 1

  override def write(conditions: Option[IndexedSeq[String]]): Option[JValue] = conditions.map(JsonValues.texts)

  override def read(json: Option[JValue]): Option[IndexedSeq[String]] = json.map(JsonFields.textsIn(_, field))

  override def compared: Compared = Compared.AfterConditions

  override def difference(
      was: Option[IndexedSeq[String]],
      is: Option[IndexedSeq[String]],
      recorded: BlockCore,
      planned: BlockCore
  ): Option[(Mismatch, String)] =
    for (before <- was; now <- is if before != now)
      yield Mismatch.Query -> s"Its filters say ${listed(before)}, the query's ${listed(now)}: rows that are stored rely on it."

  private def listed(conditions: Seq[String]): String =
    if (conditions.isEmpty) "nothing" else conditions.mkString(" and ")
}
