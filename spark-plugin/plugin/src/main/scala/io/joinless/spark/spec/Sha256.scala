package io.joinless.spark.spec

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** The SHA-256 of a text, as hexadecimal digits. Checkpoints record it. */
private[spark] object Sha256 {

  def apply(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)).map(b => f"${b & 0xff}%02x").mkString
}
