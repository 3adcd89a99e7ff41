package io.joinless.suites

import java.nio.file.{Files, Path, Paths, StandardOpenOption}

/** The file, named by the property `joinless.suites.record`, into which a run writes its events,
  * one line each with tabs between its fields. Each line is written to disk at once, so the record
  * of a run that hangs or dies remains.
  */
object Record {

  private val file: Path = Paths.get(System.getProperty("joinless.suites.record"))

  def add(fields: String*): Unit = synchronized {
    val line = fields.map(_.replaceAll("\\s+", " ").trim).mkString("\t")
    val _ = Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND)
  }
}
