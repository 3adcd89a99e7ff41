package io.joinless.spark.spec

import io.joinless.spark.spec.JsonFields.excerpt
import org.json4s.JsonAST.{JString, JValue}

/** Static tables are read when rows arrive, wherever they stand in the query; otherwise where Spark
  * reads them. The first releases read all of them at arrival, and did not record it.
  */
object StaticsAtArrival extends BlockProperty[Boolean]("statics", default = false) {
  private val AtArrival = "atArrival"
  private val AsSpark = "asSpark"

  override def since: Int = 1
  override def isRequired(version: Int): Boolean = version >= 2

  override def write(atArrival: Boolean): Option[JValue] = Some(JString(if (atArrival) AtArrival else AsSpark))

  override def read(json: Option[JValue]): Boolean = json.forall {
    case JString(AtArrival) => true
    case JString(AsSpark) => false
    case other => throw new IllegalArgumentException(s"${excerpt(other)} is no time at which static tables are read")
  }
}
