package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch
import io.joinless.spark.spec.JsonFields._
import io.joinless.spark.spec.JsonValues.array
import org.json4s.JsonAST._

/** The operations that the query applies to the block's rows, in a form that any session can read
  * back.
  *
  * Expressions are SQL texts over positions: `c0`, `c1`, … are the columns of `BlockSpec.output`,
  * for a residual those of its `ResidualSpec`. An expression without a text that means the same
  * everywhere (it calls a user's function, say) is None.
  *
  * @param columns names and types of the result
  * @param values the expression of each of them
  * @param filters conditions on the result's rows that the block itself does not check
  * @param residuals the block's residuals, in their order
  * @param confs settings of the session on which the meaning of the texts depends
  */
final case class ResultSpec(
    columns: IndexedSeq[ColumnSpec],
    values: IndexedSeq[Option[String]],
    filters: IndexedSeq[Option[String]],
    residuals: IndexedSeq[Option[String]],
    confs: Map[String, String]
)

/** For readers of the checkpoint; nothing else depends on it. None where the writing release did
  * not record it, or where it is too large.
  */
object ResultSpec extends BlockProperty[Option[ResultSpec]]("result", default = None) {

  override def since: Int = 1

  override def write(result: Option[ResultSpec]): Option[JValue] = result.map { result =>
    JObject(
      "columns" -> JsonValues.schema(result.columns),
      "values" -> array(result.values)(sql),
      "filters" -> array(result.filters)(sql),
      "residuals" -> array(result.residuals)(sql),
      "confs" -> JObject(result.confs.toList.sorted.map { case (key, value) => key -> JString(value) })
    )
  }

  private def sql(expression: Option[String]): JValue = expression.fold[JValue](JNull)(JString(_))

  override def read(json: Option[JValue]): Option[ResultSpec] = json.map { found =>
    ResultSpec(
      JsonFields.columns(at(found, "columns")),
      list(found, "values").map(sql),
      list(found, "filters").map(sql),
      list(found, "residuals").map(sql),
      at(found, "confs") match {
        case JObject(confs) => confs.map {
            case (key, JString(value)) => key -> value
            case (key, _) => throw new IllegalArgumentException(s"the setting ${key.take(100)} is no text")
          }.toMap
        case _ => throw new IllegalArgumentException("the field confs is no object")
      }
    )
  }

  private def sql(json: JValue): Option[String] = json match {
    case JString(sql) => Some(sql)
    case JNull => None
    case _ => throw new IllegalArgumentException("an expression is no text")
  }

  override def columns(result: Option[ResultSpec]): Int = result.fold(0)(r => r.columns.size + r.filters.size)

  override def names(result: Option[ResultSpec]): Seq[String] = result.toSeq.flatMap(_.columns.map(_.name))

  override def problem(result: Option[ResultSpec], block: BlockCore): Option[(Mismatch, String)] =
    result.filter(r => r.values.size != r.columns.size || r.residuals.size != block.residuals.size).map(_ =>
      BlockProperty.contradiction("its result has other columns or conditions than the block")
    )
}
