package io.joinless.spark.spec

import io.joinless.spark.spec.JsonValues._
import org.json4s.JsonAST._

/** Writes a block in the durable format; [[SpecDecoder]] reads it back. */
private[spec] object SpecEncoder {

  /** @param version the number of the newest version: the fields are those of no other
    * @param release the release that writes
    */
  def encode(spec: BlockSpec, version: Int, release: String): JObject = JObject(
    List(
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
          ) ++ r.lifetime.toSeq.flatMap(LifetimeSpec.write)
        )
      },
      "tree" -> RecordedTree.write(spec.tree),
      "shares" -> numbers(spec.shares: _*),
      "residuals" -> array(spec.residuals) { r =>
        val condition = JObject("sql" -> JString(r.sql), "columns" -> array(r.columns)(column))
        if (r.closesCycle) JObject(condition.obj :+ ("closesCycle" -> JBool(true))) else condition
      },
      "output" -> array(spec.output)(column)
    ) ++ BlockProperties.all.flatMap(field(_, spec.shape))
  )

  private def field[A](property: BlockProperty[A], shape: BlockShape): Option[JField] =
    property.write(shape(property)).map(property.field -> _)
}
