package io.joinless.spark.explain.steps

import org.json4s.JsonAST._

/** The steps of a query as JSON: one object per step, with those below it. */
private[spark] object StepsJson {

  def apply(step: Step): JValue = JObject(
    "number" -> step.number.fold[JValue](JNull)(JInt(_)),
    "title" -> JString(step.title),
    "details" -> JArray(step.details.map(JString(_)).toList),
    "stores" -> step.stores.fold[JValue](JNull)(JString(_)),
    "cost" -> step.cost.fold[JValue](JNull)(JString(_)),
    "reach" -> JString(step.reach.name),
    "inputs" -> JArray(step.inputs.map(apply).toList)
  )
}
