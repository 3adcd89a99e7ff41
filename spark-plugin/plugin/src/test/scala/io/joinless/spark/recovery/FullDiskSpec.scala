package io.joinless.spark.recovery

import io.joinless.spark.{EdgeFiles, SharedSpark}
import org.scalatest.funsuite.AnyFunSuite

/** No space left for the checkpoint: the batch fails with the file system's own error, and
  * continues when there is space.
  */
class FullDiskSpec extends AnyFunSuite with SharedSpark {

  private val threeHops =
    "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  for (part <- Seq("/state/", "/offsets/", "/commits/"))
    test(s"recovery_ a full disk below $part") {
      withConf("fs.fulldisk.impl" -> classOf[FullDiskFileSystem].getName) {
        val files = new EdgeFiles(spark, "e")
        val query = new CollectedQuery(files, threeHops, scheme = s"${FullDiskFileSystem.Scheme}://")
        files.addRandom(0)
        files.addRandom(1)
        query.run()
        assert(query.rows == query.expected)
        files.addRandom(2)
        val refusals = FullDiskFileSystem.fill(part) {
          val messages = Iterator.iterate[Throwable](query.failure())(_.getCause).takeWhile(_ != null).map(_.getMessage)
          assert(messages.exists(_.contains("No space left on device")))
        }
        assert(refusals > 0)
        files.addRandom(3)
        query.run()
        assert(query.rows.nonEmpty && query.rows == query.expected)
      }
    }
}
