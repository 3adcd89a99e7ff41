package io.joinless.spark.spec

import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import org.apache.spark.sql.types.{StructField, StructType}
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.parse

/** Writes a block in the durable format; [[SpecDecoder]] reads it back. */
private[spec] object SpecEncoder {

  /** When static tables are read. */
  final val AtArrival = "atArrival"
  final val AsSpark = "asSpark"

  /** @param version the number of the newest version: the fields are those of no other
    * @param release the release that writes
    */
  def encode(spec: BlockSpec, version: Int, release: String): JObject = {
    val shape = spec.shape
    JObject(List(
      "specVersion" -> JInt(version),
      "engineVersion" -> JString(release),
      "block" -> JInt(spec.id.block),
      "stage" -> JInt(spec.id.stage),
      "inputs" -> array(spec.inputs) { input =>
        JObject("kind" -> JString(input.kind.name), "columns" -> schema(input.columns))
      },
      "attributes" -> schema(spec.attributes.map(a => ColumnSpec(a.name, a.dataType))),
      "nullSafe" -> array(spec.attributes)(a => JBool(a.nullSafe)),
      "relations" -> array(spec.relations) { r =>
        JObject(
          List(
            "name" -> JString(r.name),
            "input" -> JInt(r.input),
            "keys" -> array(r.keys)(k => numbers(k.attribute, k.ordinal))
          ) ++ r.lifetime.map(l => "until" -> array(l.until)(encode)) ++
            r.lifetime.filter(_.others.nonEmpty).map { l =>
              "orUntil" -> array(l.others)(kind => JObject("until" -> array(kind)(encode)))
            }
        )
      },
      "tree" -> encode(spec.tree),
      "shares" -> numbers(spec.shares: _*),
      "residuals" -> array(spec.residuals) { r =>
        val condition = JObject("sql" -> JString(r.sql), "columns" -> array(r.columns)(encode))
        if (r.closesCycle) JObject(condition.obj :+ ("closesCycle" -> JBool(true))) else condition
      },
      "output" -> array(spec.output)(encode),
      "statics" -> JString(if (shape.staticsAtArrival) AtArrival else AsSpark)
    ) ++ shape.result.map(r => "result" -> encode(r)) ++ shape.meaning.map(m => "meaning" -> encode(m)) ++
      shape.constants.map(texts => "constants" -> array(texts)(JString(_))) ++
      shape.origins.map(origins => "origins" -> array(origins)(encode)) ++
      shape.reduction.map(r => "reduction" -> encode(r)) ++
      Option.when(shape.order.nonEmpty)("order" -> order(shape.order)))
  }

  private def encode(reduction: ReductionSpec): JObject = JObject(
    List(
      "components" -> array(reduction.components)(encode),
      "top" -> encode(reduction.top),
      "once" -> JBool(reduction.once)
    ) ++ sums("sums", reduction.sums) ++ sums("failures", reduction.failures)
  )

  private def sums(name: String, sums: IndexedSeq[SumSpec]): Option[(String, JValue)] =
    Option.when(sums.nonEmpty)(name -> array(sums)(sum => array(sum.factors)(encode)))

  def encode(origin: OriginSpec): JObject = JObject(
    "rows" -> JString(origin.rows),
    "places" -> array(origin.places)(JString(_)),
    "filters" -> array(origin.filters)(JString(_))
  )

  private def encode(meaning: MeaningSpec): JObject = JObject(List(
    "rows" -> array(meaning.rows)(_.fold[JValue](JNull)(rows)),
    "conditions" -> array(meaning.conditions)(JString(_)),
    "values" -> array(meaning.values)(JString(_))
  ) ++ meaning.zone.map(zone => "zone" -> JString(zone)) ++
    meaning.emitted.map(columns => "emitted" -> array(columns)(JString(_))))

  def order(columns: IndexedSeq[IndexedSeq[String]]): JArray =
    array(columns)(names => array(names)(JString(_)))

  def rows(rows: RowsSpec): JObject =
    JObject("values" -> array(rows.values)(JString(_)), "filters" -> array(rows.filters)(JString(_)))

  private def encode(result: ResultSpec): JObject = JObject(
    "columns" -> schema(result.columns),
    "values" -> array(result.values)(encode),
    "filters" -> array(result.filters)(encode),
    "residuals" -> array(result.residuals)(encode),
    "confs" -> JObject(result.confs.toList.sorted.map { case (key, value) => key -> JString(value) })
  )

  private def encode(sql: Option[String]): JValue = sql.fold[JValue](JNull)(JString(_))

  def encode(time: TimeSpec): JValue =
    JObject("column" -> JInt(time.ordinal), "after" -> JInt(time.after))

  private def encode(column: ColumnRef): JValue = numbers(column.relation, column.ordinal)

  private def encode(tree: JoinTree): JObject = {
    val relation = tree match {
      case RelationNode(r, _, _) => List("relation" -> JInt(r))
      case _: GeneralizedNode => Nil
    }
    JObject(
      relation ++ List("attributes" -> numbers(tree.attributes.toSeq: _*), "children" -> array(tree.children)(encode))
    )
  }

  def schema(columns: Seq[ColumnSpec]): JValue =
    parse(StructType(columns.map(c => StructField(c.name, c.dataType))).json)

  private def array[A](items: Seq[A])(encode: A => JValue): JArray = JArray(items.map(encode).toList)

  private def numbers(items: Int*): JArray = array(items)(n => JInt(n))
}
