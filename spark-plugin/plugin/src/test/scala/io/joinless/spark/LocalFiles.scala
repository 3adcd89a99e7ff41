package io.joinless.spark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{DelegateToFileSystem, FileStatus, FileSystem, LocalFileSystem, Path, RawLocalFileSystem}

import java.io.IOException
import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import scala.jdk.CollectionConverters._
import scala.util.matching.Regex

/** Hadoop's local file system, but Java sets the permissions of files. Without its native library,
  * Hadoop starts a process for each file that is written (`chmod`) or renamed (`readlink`), which
  * is a fifth of a test of sinks. Tests make no links.
  */
final class LocalFiles extends LocalFileSystem(new LocalFiles.Raw)

object LocalFiles {

  /** Hadoop uses it from here on, if it is called with these settings. */
  def use(conf: Configuration): Unit = {
    conf.set("fs.file.impl", classOf[LocalFiles].getName)
    conf.set("fs.AbstractFileSystem.file.impl", classOf[Context].getName)
    unneeded(conf).foreach(conf.unset)
    FileSystem.closeAll() // another one may have been used before
  }

  /** Defaults of systems that tests do not use: over a thousand entries, of which each operator of
    * each batch sends its tasks a copy.
    */
  private def unneeded(conf: Configuration): Seq[String] =
    conf.iterator.asScala.map(_.getKey).filter { key =>
      !Needed.exists(key.startsWith) &&
      Option(conf.getPropertySources(key)).exists(_.forall(_.endsWith("-default.xml")))
    }.toSeq

  private val Needed = Seq("fs.defaultFS", "fs.file.", "fs.AbstractFileSystem.", "file.", "io.", "hadoop.security.")

  /** The same for users of a `FileContext`. */
  final class Context(uri: URI, conf: Configuration)
      extends DelegateToFileSystem(uri, new LocalFiles, conf, "file", false) {
    override def getUriDefaultPort: Int = -1
  }

  /** A failure before a file has its name, or is removed.
    *
    * @param left how many such operations still come before it
    */
  final private case class Failure(path: Regex, left: Int, halt: Boolean)

  private var next: Option[Failure] = None

  /** Fails the `n`-th operation from here on that gives a file a name which has the pattern in it,
    * or removes it, and all such operations after it, as if the process had ended there.
    */
  def failBefore(path: String, n: Int): Unit = synchronized { next = Some(Failure(path.r, n, halt = false)) }

  /** Halts this process instead, and says so. */
  def haltBefore(path: String): Unit = synchronized { next = Some(Failure(path.r, 1, halt = true)) }

  /** Cancels it. Whether it was still to come. */
  def cancel(): Boolean = synchronized {
    try next.exists(_.left > 0)
    finally next = None
  }

  private def about(path: Path): Unit = synchronized {
    next.filter(_.path.findFirstIn(path.toString).isDefined).foreach { failure =>
      val left = 0.max(failure.left - 1)
      next = Some(failure.copy(left = left))
      if (left == 0 && failure.halt) {
        println("halted")
        Runtime.getRuntime.halt(9)
      }
      if (left == 0) throw new IOException(s"killed before $path")
    }
  }

  final private class Raw extends RawLocalFileSystem {

    override def rename(from: Path, to: Path): Boolean = { about(to); super.rename(from, to) }

    override def delete(path: Path, recursive: Boolean): Boolean = { about(path); super.delete(path, recursive) }

    override def setPermission(path: Path, p: FsPermission): Unit = {
      val text = p.getUserAction.SYMBOL + p.getGroupAction.SYMBOL + p.getOtherAction.SYMBOL
      val _ = Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(text))
    }

    override def getFileLinkStatus(path: Path): FileStatus = getFileStatus(path)
  }
}
