package io.joinless.engine.mutants

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.security.MessageDigest

import scala.jdk.CollectionConverters._

import io.joinless.engine.oracle.CaseFile

/** The record of the engine and test sources for which all mutants were killed:
  * `spark-plugin/engine/killed-mutants.txt` holds a hash of them. A run of all mutants writes it;
  * it is committed with the change that the run was for.
  */
object KilledMutants {
  private val engine = CaseFile.root.resolve("spark-plugin/engine")
  private val file = engine.resolve("killed-mutants.txt")
  private val Comment = "# All mutants of the engine were killed with the sources of this hash; MutantSpec writes it."

  /** A hash of the sources of the engine and of its tests. */
  def sources: String = {
    val digest = MessageDigest.getInstance("SHA-256")
    for (source <- files) {
      digest.update(engine.relativize(source).toString.replace('\\', '/').getBytes(UTF_8))
      digest.update(Files.readAllBytes(source))
    }
    digest.digest.map(byte => f"${byte & 0xff}%02x").mkString
  }

  /** Whether all mutants are known to be killed for these sources. False if a run of all is
    * requested (JOINLESS_ALL_MUTANTS), as in the long run.
    */
  def areKnown(sources: String): Boolean =
    !sys.env.contains("JOINLESS_ALL_MUTANTS") && Files.exists(file) && Files.readString(file) == text(sources)

  /** Records that all mutants are killed for these sources. */
  def of(sources: String): Unit = { val _ = Files.writeString(file, text(sources)) }

  private def text(sources: String): String = s"$Comment\n$sources\n"

  private def files: Seq[Path] = {
    val found = Files.walk(engine.resolve("src"))
    try found.iterator.asScala.filter(_.toString.endsWith(".scala")).toSeq.sorted
    finally found.close()
  }
}
