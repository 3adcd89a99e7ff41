package io.joinless.spark.evolve

import scala.util.Try

import io.joinless.spark.checkpoint.SmallFile
import org.apache.spark.sql.SparkSession
import org.json4s.JsonAST.{JArray, JInt, JNull, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** With what the query of a checkpoint begins, as the checkpoint says in `joinless/begins`.
  *
  * @param from the checkpoint of another query, whose stored rows it takes
  * @param batch of that query; None as long as this query was not started
  * @param taken for each scan in whose place rows are read: its position, the operator that has
  *   stored them and the number of their relation there
  */
final private[spark] case class Beginning(from: String, batch: Option[Long], taken: Seq[Seq[Long]]) {

  def text: String = compact(render(JObject(
    "from" -> JString(from),
    "batch" -> batch.fold[JValue](JNull)(JInt(_)),
    "taken" -> JArray(taken.map(numbers => JArray(numbers.map(JInt(_)).toList)).toList)
  )))
}

private[spark] object Beginning {

  def file(session: SparkSession, checkpoint: String): SmallFile = new SmallFile(session, checkpoint, "begins")

  /** How a query begins that takes over in this way. */
  def of(evolution: Evolution): Beginning = Beginning(
    evolution.checkpoint,
    Some(evolution.batch),
    evolution.taken.map(t => Seq(t.scan.toLong, t.operator, t.of.relation.toLong))
  )

  /** What the checkpoint says; None if it says nothing of it. */
  def read(session: SparkSession, checkpoint: String): Option[Beginning] =
    file(session, checkpoint).read().flatMap(text => Try(parse(text)).toOption).collect { case json: JObject =>
      val JString(from) = json \ "from": @unchecked
      val batch = json \ "batch" match { case JInt(n) => Some(n.toLong); case _ => None }
      val taken = (json \ "taken").children.map(_.children.collect { case JInt(n) => n.toLong })
      Beginning(from, batch, taken)
    }
}
