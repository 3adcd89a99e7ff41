package io.joinless.spark

import java.nio.file.{Files, Path}
import java.util.Comparator
import java.util.concurrent.ConcurrentLinkedQueue
import scala.jdk.CollectionConverters._
import scala.util.Try

/** Folders of tests, deleted when the JVM ends. */
object TestFolders {
  private val folders = new ConcurrentLinkedQueue[Path]

  Runtime.getRuntime.addShutdownHook(new Thread(() => folders.asScala.foreach(folder => Try(delete(folder)))))

  /** A new, empty one. */
  def create(name: String): Path = {
    val folder = Files.createTempDirectory(s"joinless-$name")
    folders.add(folder)
    folder
  }

  private def delete(folder: Path): Unit = {
    val files = Files.walk(folder)
    try files.sorted(Comparator.reverseOrder[Path]).forEach(file => Files.delete(file))
    finally files.close()
  }
}
