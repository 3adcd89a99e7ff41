package io.joinless.spark.recovery

import java.io.IOException
import java.net.URI
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FSDataOutputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.util.Progressable

/** The local file system under the scheme `fulldisk`, which has no space left for configured paths.
  */
final class FullDiskFileSystem extends RawLocalFileSystem {
  import FullDiskFileSystem._

  override def getUri: URI = URI.create(s"$Scheme:///")
  override def getScheme: String = Scheme

  override def create(
      f: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    demandSpace(f)
    super.create(f, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def create(
      f: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    demandSpace(f)
    super.create(f, permission, overwrite, bufferSize, replication, blockSize, progress)
  }
}

object FullDiskFileSystem {
  final val Scheme = "fulldisk"

  @volatile private var full: Option[String] = None
  @volatile private var refusals = 0

  private def demandSpace(path: Path): Unit = if (full.exists(path.toString.contains)) {
    refusals += 1
    throw new IOException(s"No space left on device: $path")
  }

  /** There is no space for paths that contain `part` while `body` runs.
    *
    * @return number of writes that were refused
    */
  def fill(part: String)(body: => Any): Int = {
    refusals = 0
    full = Some(part)
    try { val _ = body }
    finally full = None
    refusals
  }
}
