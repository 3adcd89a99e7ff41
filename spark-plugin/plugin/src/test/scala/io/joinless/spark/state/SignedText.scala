package io.joinless.spark.state

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, render}

/** Recorded blocks as an attacker could write them: with a valid digest. */
object SignedText {

  /** The text with the digest that its fields have. */
  def signed(json: JValue): String = json match {
    case JObject(all) =>
      val fields = JObject(all.filterNot(_._1 == "digest"))
      val digest = MessageDigest.getInstance("SHA-256").digest(compact(render(fields)).getBytes(UTF_8))
      compact(render(JObject(fields.obj :+ ("digest" -> JString(digest.map("%02x".format(_)).mkString)))))
    case other => compact(render(other))
  }
}
