package io.joinless.suites

import java.nio.file.{Files, Path, Paths, StandardOpenOption}

/** The file, named by the property `joinless.suites.record`, into which a run writes what happens, one line each with tabs
  * between its fields. Each line is on disk at once: of a run that hangs or dies remains what it did.
  */
object Record {

  private val file: Path = Paths.get(System.getProperty("joinless.suites.record"))

  def add(fields: String*): Unit = synchronized {
    val line = fields.map(_.replaceAll("\\s+", " ").trim).mkString("\t")
    val _ = Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND)
  }
}
